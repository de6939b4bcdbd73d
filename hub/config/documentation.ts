import type { z } from 'zod';
import { documentationSchema, type obsidianSchema } from './documentation-schema.ts';
import type { Problem } from './problem.ts';
import { type Environment, type SecretValues, expandStrings } from './variables.ts';
import { interpreted } from './schema-parts.ts';

/** Options of `documentation` in the config. */
export type DocumentationConfig = {
  readonly vault: string | undefined;
  readonly obsidian: ObsidianConfig | undefined;
  readonly maxFiles: number;
  readonly maxBytes: number;
  /** Maximum duration of a run in ms. */
  readonly maxMs: number;
};

export type ObsidianConfig = {
  /** URL of Obsidian's REST API, as `https://host:port`. */
  readonly url: string;
  /** API key (secret). */
  readonly key: string | undefined;
  /** Why the key cannot be read: a sentence with the remedy. */
  readonly keyFault: string | undefined;
  /** Path of a PEM file with the certificate. */
  readonly certificate: string | undefined;
  readonly fingerprint: string | undefined;
};

const megabyte = 1_000_000;
const hourMs = 3_600_000;

/**
 * Converts the options as written, with variables expanded. Returns the defaults if there are none. A secret that
 * cannot be read does not make the config invalid: only runs that need the secret fail.
 */
export function readDocumentation(
  written: z.output<typeof documentationSchema> | undefined,
  env: Environment = {},
  secrets: SecretValues = new Map(),
): { readonly documentation: DocumentationConfig; readonly problems: readonly Problem[] } {
  const { vault, obsidian, max_files, max_megabytes, max_hours } =
    written ?? documentationSchema.parse({}, interpreted);
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
  }: z.output<typeof obsidianSchema>): ObsidianConfig {
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
      url: address?.origin ?? url,
      key: fault ? undefined : String(secret.value),
      keyFault: fault?.text,
      certificate,
      fingerprint: print,
    };
  }
}
