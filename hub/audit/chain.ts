import { hash } from 'node:crypto';
import { isObject, tryParseJson } from '#core';

/** A line of the audit log, by its number and the SHA-256 of its text without the line feed. */
export type Position = { readonly seq: number; readonly hash: string };

/** The position before the first line. */
export const beginning: Position = { seq: 0, hash: '0'.repeat(64) };

export const hashOf = (line: string | Buffer): string => hash('sha256', line);

/** The text of a line without its line feed. `body` is the inside of a JSON object. */
export const lineOf = (body: string, { seq, hash: previous }: Position): string =>
  `{"seq":${seq + 1},${body},"previous":"${previous}"}`;

/** A line as it was read. */
export type AuditLine = {
  readonly seq: number;
  readonly at: string;
  readonly kind: string;
  readonly previous: string;
  readonly [member: string]: unknown;
};

/** Undefined if the text is no line of an audit log. */
export function parseLine(text: string): AuditLine | undefined {
  const value = tryParseJson(text);
  if (!isObject(value)) return undefined;
  const { seq, at, kind, previous } = value;
  return Number.isSafeInteger(seq) &&
    typeof seq === 'number' &&
    typeof at === 'string' &&
    typeof kind === 'string' &&
    typeof previous === 'string'
    ? { ...value, seq, at, kind, previous }
    : undefined;
}
