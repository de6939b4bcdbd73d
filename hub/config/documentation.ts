import type { z } from 'zod';
import { documentationSchema, type obsidianSchema } from './documentation-schema.ts';
import type { Problem } from './problem.ts';
import { type Environment, type SecretValues, expandStrings } from './variables.ts';
import { interpreted } from './schema-parts.ts';

/** Options of `documentation` in the config. */
export type DocumentationConfig = Readonly<ReturnType<typeof readDocumentation>['documentation']>;

export type ObsidianConfig = Readonly<NonNullable<DocumentationConfig['obsidian']>>;

const megabyte = 1_000_000;
const hourMs = 3_600_000;

/**
 * Converts the options as written, with variables expanded. Returns the defaults if there are none. A secret that
 * cannot be read does not make the config invalid: only runs that need the secret fail.
 */
export function readDocumentation(
  { vault, obsidian, max_files, max_megabytes, max_hours } = documentationSchema.parse(
    {},
    interpreted,
  ),
  env: Environment = {},
  secrets: SecretValues = new Map(),
) {
  const problems: Problem[] = [];
  return {
    problems,
    documentation: {
      vault,
      obsidian: obsidian && readObsidian(obsidian),
      maxFiles: max_files,
      maxBytes: max_megabytes * megabyte,
      maxMs: max_hours * hourMs,
    },
  };

  function readObsidian({
    url,
    key,
    certificate,
    fingerprint: print,
  }: z.output<typeof obsidianSchema>) {
    const path = ['documentation', 'obsidian'];
    const secret = expandStrings(key, [...path, 'key'], env, secrets);
    problems.push(...secret.problems);
    const address = URL.parse(url);
    if (
      address?.protocol !== 'https:' ||
      address.pathname !== '/' ||
      address.username !== '' ||
      address.search !== ''
    )
      problems.push({
        path: [...path, 'url'],
        text: 'is not an address of the plugin: write "https://" with host and port. The plugin must not be used without TLS, as its key could be read',
      });
    if (certificate === undefined && print === undefined)
      problems.push({
        path,
        text: 'needs "certificate" or "fingerprint", because the plugin signs its certificate itself',
      });
    const [fault] = secret.secretFaults;
    return {
      /** URL of Obsidian's REST API, as `https://host:port`. */
      url: address?.origin ?? url,
      /** API key (secret). */
      key: fault ? undefined : String(secret.value),
      /** Why the key cannot be read: a sentence with the remedy. */
      keyFault: fault?.text,
      /** Path of a PEM file with the certificate. */
      certificate,
      fingerprint: print,
    };
  }
}
