import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { HubError, messageOf } from '#core';
import type { Format } from './document.ts';

/** A file that a config was read from, and what it held. */
export type FileSeen = {
  /** Absolute. */
  readonly path: string;
  /**
   * The SHA-256 of the text, or why there was none that could be read, as the system calls it: EISDIR.
   * Undefined where nothing was there.
   */
  readonly digest: string | undefined;
  /** How long the text was, in characters; 0 where there was none. */
  readonly length: number;
};

/** A file and the text that was read from it, for files that are watched besides the config's own. */
export function fileSeen(path: string, text: string | undefined): FileSeen {
  const digest = text === undefined ? undefined : createHash('sha256').update(text).digest('hex');
  return { path, digest, length: text?.length ?? 0 };
}

/** A file of which this came when it was read. */
export const fileUnread = (path: string, error: unknown): FileSeen => ({
  path,
  digest: isAbsent(error) ? undefined : String(codeOf(error)),
  length: 0,
});

/** Reads a text file; replaced where the text of one is known before it is written. */
export type ReadText = (path: string) => Promise<string>;

/** Reads UTF-8. */
export const readText: ReadText = async path => await readFile(path, 'utf8');

/** How a file is written, by its extension; undefined for one that no config file has. */
export function formatOf(file: string): Format | undefined {
  const extension = extname(file).toLowerCase();
  if (extension === '.json' || extension === '.jsonc') return 'json';
  return extension === '.yaml' || extension === '.yml' ? 'yaml' : undefined;
}

export const extensionRule =
  'the name of a config file ends in .json, .jsonc, .yaml or .yml, which says how it is written';

/** The error for the config file itself whose name has another extension. */
export const misnamed = (file: string) =>
  new HubError('HUB_CONFIG_INVALID', `${file}: ${extensionRule}. Rename it`);

/** The error for the config file itself that is absent or cannot be read. */
export function unreadable(file: string, error: unknown): HubError {
  const options = { cause: error };
  if (isAbsent(error))
    return new HubError(
      'HUB_CONFIG_MISSING',
      `${file}: there is no such file. Write one with "agenthub init", or name another with --config or MCP_SERVERS_CONFIG`,
      options,
    );
  return new HubError('HUB_CONFIG_INVALID', `${file}: ${whyUnreadable(error)}`, options);
}

/** Why a file cannot be read, as the end of a sentence. */
export function whyUnreadable(error: unknown): string {
  if (isAbsent(error)) return 'there is no such file';
  return codeOf(error) === 'EISDIR'
    ? 'it is a folder. Name a file in it'
    : `it cannot be read (${messageOf(error)})`;
}

/** The code that the system gave an error, such as ENOENT. */
export const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined;

const isAbsent = (error: unknown) => ['ENOENT', 'ENOTDIR'].includes(String(codeOf(error)));
