import { isObject } from '#core';
import type { Config } from './config.ts';
import { documentOf } from './document.ts';
import { isEnabled } from './enabled.ts';
import { gatherFiles } from './extends.ts';
import { type FileReading, type ReadText, readText } from './files.ts';
import { forms } from './merge.ts';
import { type LoadOptions, createMountGuard } from './mount-guard.ts';
import { invalidFile } from './problem.ts';
import { type SecretValues, ownParts, secretsIn, secretsOfEntry } from './variables.ts';

/** A config, and all files that it depends on: the config file first, then the files that it extends. */
export type ConfigReading = FileReading<{ readonly config: Config }>;

type ReadOptions = LoadOptions & { readonly readText?: ReadText };

/**
 * Reads a config file and the files that it extends. Throws HUB_CONFIG_MISSING if the file does not exist, and
 * HUB_CONFIG_INVALID with all problems: file, line, path, value and remedy.
 */
export async function loadConfig(file: string, options: ReadOptions): Promise<Config> {
  const reading = await readConfig(file, options);
  if (reading.error) throw reading.error;
  return reading.config;
}

/** Like `loadConfig`, but also returns the files that were read, and returns errors instead of throwing them. */
export async function readConfig(file: string, options: ReadOptions): Promise<ConfigReading> {
  const gathered = await gatherFiles(file, { readText, ...options });
  const { root, complete, problems: found, files, error } = gathered;
  if (error) return { files, error };
  // If an extended file is missing, most other problems would only be consequences of that.
  if (!root || !complete) return { files, error: invalidFile(found) };
  const document = documentOf(root);
  const guard = createMountGuard(
    files.map(({ path }) => path),
    options,
  );
  const names = secretsWanted(document.value);
  const secrets: SecretValues = (names.length > 0 && (await options.secrets?.(names))) || new Map();
  const context = { ...options, extended: files.length > 1, guard, secrets };
  // Loaded on demand: commands without a config need no schema, which takes a third of the time of their start.
  const { configOf } = await import('./config-of.ts');
  const { config, problems } = await configOf(document, context);
  const all = [...found, ...problems.map(document.locate)];
  return all.length > 0 || !config ? { files, error: invalidFile(all) } : { files, config };
}

/**
 * Returns the names of the secrets that the hub, its clients and its enabled servers need. Secrets of a disabled server
 * may be missing.
 */
function secretsWanted(value: unknown): readonly string[] {
  if (!isObject(value)) return [];
  const own = secretsIn(ownParts.map(part => value[part]));
  const entries = forms.flatMap(form => Object.values(isObject(value[form]) ? value[form] : {}));
  const enabled = entries.filter(entry => isObject(entry) && isEnabled(entry));
  return [...new Set([...own, ...enabled.flatMap(secretsOfEntry)])];
}
