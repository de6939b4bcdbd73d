import { hash } from 'node:crypto';
import { isObject, tryParseJson } from '#core';

/**
 * A line of the audit log by its number, and the SHA-256 of its block through this line. A block is one line with
 * `previous`, and the lines after it that have none. Its text is that of its lines without the last line feed.
 */
export type Position = { readonly seq: number; readonly hash: string };

/** The position before the first line. */
export const beginning: Position = { seq: 0, hash: '0'.repeat(64) };

/**
 * Maximum number of lines in a block. A hash for each line would cost more than the rest of the line, and the check of
 * the log can only tell which block was changed (decisions/0038).
 */
export const maxBlockLines = 16;

export const hashOf = (text: Buffer): string => hash('sha256', text, 'hex');

/** A line as it was read. */
export type AuditLine = {
  readonly seq: number;
  readonly at: string;
  readonly kind: string;
  /** Hash of the block before. Undefined: the line belongs to the block of the line before. */
  readonly previous?: string;
  readonly [member: string]: unknown;
};

/** Undefined if the text is no line of an audit log. */
export function parseLine(text: string): AuditLine | undefined {
  const value = tryParseJson(text);
  if (!isObject(value)) return undefined;
  const { seq, at, kind, previous, ...others } = value;
  return Number.isSafeInteger(seq) &&
    typeof seq === 'number' &&
    typeof at === 'string' &&
    typeof kind === 'string' &&
    (previous === undefined || typeof previous === 'string')
    ? { seq, at, kind, ...others, ...(previous !== undefined && { previous }) }
    : undefined;
}
