import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { HubError, errorCodeOf, messageOf } from '#core';
import type { Environment } from './variables.ts';

/** A file of the config with a digest of its content. */
export type FileSnapshot = {
  /** Absolute path. */
  readonly path: string;
  /** SHA-256 of the text, or the system's error code (such as EISDIR). Undefined if the file did not exist. */
  readonly digest: string | undefined;
  /** Length of the text in characters; 0 if the file was not readable. */
  readonly length: number;
};

/** Creates the snapshot of a file from its text. Also used for watched files that do not belong to the config. */
export function snapshotOf(path: string, text: string | undefined): FileSnapshot {
  const digest = text === undefined ? undefined : hash('sha256', text);
  return { path, digest, length: text?.length ?? 0 };
}

export const unreadableSnapshot = (path: string, error: unknown): FileSnapshot => ({
  path,
  digest: isAbsent(error) ? undefined : String(errorCodeOf(error)),
  length: 0,
});

/** Parsed content or the error, with snapshots of all files that were read, for the file watch. */
export type FileReading<Content extends object> = { readonly files: readonly FileSnapshot[] } & (
  | (Content & { readonly error?: undefined })
  | ({ readonly error: HubError } & { readonly [Key in keyof Content]?: undefined })
);

export type Format = 'json' | 'yaml';

/** Reads a text file. Previews of edits replace it by a function that returns the unwritten text. */
export type ReadText = (path: string) => Promise<string>;

export const readText: ReadText = async path => (await readBytes(path)).toString('utf8');

/** Returns a sentence with the remedy if a text was read as UTF-8 but is UTF-16, which its first characters show. */
export const utf16Fault = (text: string): string | undefined =>
  /^(?:\uFFFD\uFFFD)?(?:[^\0]\0[^\0]|\0[^\0]\0)/.test(text)
    ? 'it is in UTF-16, as "Unicode" in Notepad and ">" in Windows PowerShell write it. Save it as UTF-8'
    : undefined;

const notUtf8 =
  'it is not UTF-8, but Latin-1, Windows-1252 ("ANSI" in Notepad) or another encoding. Save it as UTF-8';

/** Returns a sentence with the remedy if the bytes of a text file are not UTF-8. */
export const encodingFault = (bytes: Buffer): string | undefined =>
  utf16Fault(bytes.toString()) ?? (isUtf8(bytes) ? undefined : notUtf8);

/** Returns the format of a file by its extension; undefined for an unknown extension. */
export function formatOf(file: string): Format | undefined {
  const extension = extname(file).toLowerCase();
  if (['.json', '.jsonc'].includes(extension)) return 'json';
  return ['.yaml', '.yml'].includes(extension) ? 'yaml' : undefined;
}

export const extensionRule = 'the name of a config file must end in .json, .jsonc, .yaml or .yml';

export const misnamed = (file: string) =>
  new HubError('HUB_CONFIG_INVALID', `${file}: ${extensionRule}. Rename it`);

/** Returns the format of a file. Throws HUB_CONFIG_INVALID for an unknown extension. */
export function requireFormat(file: string): Format {
  const format = formatOf(file);
  if (format) return format;
  throw misnamed(file);
}

const missingConfigRemedy =
  'Write one with "agenthub init", or name another with --config or MCP_SERVERS_CONFIG';

export function unreadable(file: string, cause: unknown, remedy = missingConfigRemedy): HubError {
  const why = `${file}: ${whyUnreadable(cause)}`;
  return isAbsent(cause)
    ? new HubError('HUB_CONFIG_MISSING', `${why}. ${remedy}`, { cause })
    : new HubError('HUB_CONFIG_INVALID', why, { cause });
}

/** Names the user of this process by number, because in a container it is another user than the owner of the files. */
export const thisUser = () =>
  process.getuid ? `the user with number ${process.getuid()}` : 'this user';

/** Returns why a file cannot be read, as the end of a sentence. */
export function whyUnreadable(error: unknown): string {
  if (isAbsent(error)) return 'there is no such file';
  const code = errorCodeOf(error);
  if (error instanceof Unsuitable) return error.message;
  if (code === 'EISDIR') return 'it is a folder. Name a file in it';
  const why = `it cannot be read (${messageOf(error)})`;
  return code === 'EACCES' ? `${why}. Let ${thisUser()} read it` : why;
}

const isAbsent = (error: unknown) => ['ENOENT', 'ENOTDIR'].includes(String(errorCodeOf(error)));

/** Reads a file. Replaced by a function that reads a file shipped with the hub if the user's file is missing. */
export type ReadBytes = (path: string) => Promise<Buffer>;

/** Maximum size of a config file in bytes. A larger one would occupy the hub for minutes. */
const maxConfigBytes = 8 * 2 ** 20;

/** Without O_NONBLOCK, opening a pipe would occupy a thread until something writes to it. Windows has no such flag. */
export const readFlags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Reads a config file. Rejects as `readFileWithin` does. */
export const readBytes: ReadBytes = async path => await readFileWithin(maxConfigBytes, path);

/** Reads a file. Rejects with the error of the system, and for a pipe, a device or a file with more bytes. */
export async function readFileWithin(maxBytes: number, path: string): Promise<Buffer> {
  await using handle = await open(path, readFlags);
  const stats = await handle.stat();
  if (!stats.isFile() && !stats.isDirectory())
    throw new Unsuitable('it is a pipe or a device. Use a regular file');
  if (stats.size > maxBytes)
    throw new Unsuitable(
      `it has ${stats.size} bytes, and a config file has at most ${maxBytes}. Name another file`,
    );
  return await handle.readFile();
}

/** The error of a file that is not a config file. The message is a sentence. */
class Unsuitable extends Error {}

export type ShippedFiles = ReturnType<typeof createShippedFiles>;

/**
 * Creates file readers that read files shipped with the hub in place of missing ones. `inPlaceOf` maps the missing
 * paths to the shipped files. Once a file exists at such a path, it is no longer replaced: if it disappears later,
 * reading it is an error.
 */
export function createShippedFiles(inPlaceOf: Readonly<Record<string, string>>) {
  const shipped = new Map(Object.entries(inPlaceOf).map(([path, file]) => [resolve(path), file]));
  const readEither: ReadBytes = async path => {
    const absolute = resolve(path);
    try {
      const bytes = await readBytes(absolute);
      shipped.delete(absolute);
      return bytes;
    } catch (error) {
      const file = shipped.get(absolute);
      if (file === undefined || errorCodeOf(error) !== 'ENOENT') throw error;
      return await readFile(file);
    }
  };
  return {
    readBytes: readEither,
    readText: async (path: string) => (await readEither(path)).toString('utf8'),
    /** True while a shipped file is read in place of the file at this path. */
    async standsIn(path: string): Promise<boolean> {
      await readEither(path).catch(() => undefined); // The reader reports errors other than a missing file.
      return shipped.has(resolve(path));
    },
  };
}

/** Variables that can also be set by a file, which `<NAME>_FILE` names. */
const names = ['REDIS_PASSWORD', 'QDRANT_API_KEY'];

/**
 * Adds the values of secret files to the environment, trimmed. Throws HUB_CONFIG_INVALID for an unreadable or empty
 * file, and for a variable that is also set directly.
 */
export async function readSecretFiles(env: Environment): Promise<Environment> {
  const found: Record<string, string | undefined> = {};
  for (const name of names) found[name] = await readValueOrFile(env, name);
  return { ...env, ...found };
}

/**
 * Returns a variable, or the trimmed content of the file that `<NAME>_FILE` names. Throws as `readSecretFiles` does.
 */
export async function readValueOrFile(env: Environment, name: string): Promise<string | undefined> {
  const file = env[`${name}_FILE`];
  if (!file) return env[name] || undefined;
  const invalid = (why: string, options = {}) =>
    new HubError('HUB_CONFIG_INVALID', `${name}_FILE: ${why}`, options);
  if (env[name]) throw invalid(`${name} is set as well. Remove one of them`);
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw invalid(`${JSON.stringify(file)} cannot be read (${messageOf(cause)})`, { cause });
  });
  if (text.trim() === '') throw invalid(`${JSON.stringify(file)} is empty`);
  return text.trim();
}
