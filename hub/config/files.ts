import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { HubError, messageOf } from '#core';
import type { Format } from './document.ts';

/** A file that a config was read from, and a digest of its content. */
export type FileSnapshot = {
  /** Absolute. */
  readonly path: string;
  /**
   * SHA-256 of the text, or the system's error code (such as EISDIR) if the file could not be read. Undefined if
   * there was no file.
   */
  readonly digest: string | undefined;
  /** Length of the text in characters; 0 if there was none. */
  readonly length: number;
};

/** Creates the snapshot of a file from its text. Also for watched files that do not belong to the config. */
export function snapshotOf(path: string, text: string | undefined): FileSnapshot {
  const digest = text === undefined ? undefined : createHash('sha256').update(text).digest('hex');
  return { path, digest, length: text?.length ?? 0 };
}

export const unreadableSnapshot = (path: string, error: unknown): FileSnapshot => ({
  path,
  digest: isAbsent(error) ? undefined : String(codeOf(error)),
  length: 0,
});

/** Reads a text file. Replaced in previews, where the new text is not written yet. */
export type ReadText = (path: string) => Promise<string>;

export const readText: ReadText = async path => await readFile(path, 'utf8');

/** The format of a file by its extension; undefined for an unknown extension. */
export function formatOf(file: string): Format | undefined {
  const extension = extname(file).toLowerCase();
  if (['.json', '.jsonc'].includes(extension)) return 'json';
  return ['.yaml', '.yml'].includes(extension) ? 'yaml' : undefined;
}

export const extensionRule = 'the name of a config file must end in .json, .jsonc, .yaml or .yml';

export const misnamed = (file: string) =>
  new HubError('HUB_CONFIG_INVALID', `${file}: ${extensionRule}. Rename it`);

const missingConfigRemedy =
  'Write one with "agenthub init", or name another with --config or MCP_SERVERS_CONFIG';

export function unreadable(file: string, cause: unknown, remedy = missingConfigRemedy): HubError {
  const why = `${file}: ${whyUnreadable(cause)}`;
  return isAbsent(cause)
    ? new HubError('HUB_CONFIG_MISSING', `${why}. ${remedy}`, { cause })
    : new HubError('HUB_CONFIG_INVALID', why, { cause });
}

/** Why a file cannot be read, as the end of a sentence. */
export function whyUnreadable(error: unknown): string {
  if (isAbsent(error)) return 'there is no such file';
  return codeOf(error) === 'EISDIR'
    ? 'it is a folder. Name a file in it'
    : `it cannot be read (${messageOf(error)})`;
}

/** The system's error code, such as ENOENT. */
export const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined;

const isAbsent = (error: unknown) => ['ENOENT', 'ENOTDIR'].includes(String(codeOf(error)));
