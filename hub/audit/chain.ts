import { hash } from 'node:crypto';
import { isObject, tryParseJson } from '#core';

/**
 * Position of a line in the audit log: its number, and the SHA-256 of its block through this line. A block starts with
 * a line that has `previous`, and contains the following lines without `previous`. The hash omits the last line feed.
 */
export type Position = { readonly seq: number; readonly hash: string };

/** The position before the first line. */
export const beginning: Position = { seq: 0, hash: '0'.repeat(64) };

/**
 * Maximum number of lines in a block. Hashing each line separately would cost more than the rest of the line. A failed
 * check can only tell which block was changed (decisions/0038).
 */
export const maxBlockLines = 16;

export const hashOf = (text: Buffer): string => hash('sha256', text, 'hex');

/** A parsed line of the audit log. */
export type AuditLine = {
  readonly seq: number;
  readonly at: string;
  readonly kind: string;
  /** Hash of the previous block. Undefined: the line belongs to the same block as the line before. */
  readonly previous?: string;
  readonly [member: string]: unknown;
};

/** Parses a line; undefined if the text is not a line of an audit log. */
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
