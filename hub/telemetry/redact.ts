import { isObject, isSecretName } from '#core';
import { encodingsOf } from './secret-encodings.ts';
import { redactShapes } from './secret-shapes.ts';

/**
 * Removes secrets from texts and JSON values. The results are for people and logs; never send them to a server.
 */
export type Redaction = {
  /** Redacts what looks like a credential, and the known secret values. */
  readonly text: (text: string) => string;
  /** Redacts every string in a JSON value as `text` does, and every value under a secret-sounding key. */
  readonly json: (value: unknown) => unknown;
};

/** Replacement for a secret. */
export const redacted = '[redacted]';
const tooDeep = '[too deep]';

/** Shorter values are not redacted, in characters: they would match in ordinary text. */
export const minKnownLength = 8;
/** Maximum nesting depth that is inspected; messages of servers have the same limit. */
const maxDepth = 64;

/** Redacts what looks like a credential. */
export const redactText = (text: string): string => redactShapes(text, redacted);

/** Redacts what looks like a credential, and every value under a secret-sounding key. */
export const redactJson = (value: unknown): unknown => redactValue(value, redactText, maxDepth);

/**
 * Creates a redaction that also removes known secret values, including a value that a cut-off text ends in.
 * `values` is called on each use and must return the same array until the values change: the search pattern is
 * cached by it.
 */
export function createRedaction(values: () => readonly string[]): Redaction {
  let prepared: Known | undefined;
  const text = (given: string) => {
    const wanted = values();
    if (prepared?.values !== wanted) prepared = prepare(wanted);
    return redactText(prepared.remove(given));
  };
  return { text, json: value => redactValue(value, text, maxDepth) };
}

/** Redaction by shape only, where no secret values are known. */
export const shapesOnly: Redaction = { text: redactText, json: redactJson };

/** Redacts the fields of a log line. Deeply nested values are replaced by `[too deep]`. */
export const redactFields = (fields: object, { text }: Redaction): Record<string, unknown> =>
  redactMembers(fields, text, maxLogDepth);

const maxLogDepth = 6;

type Known = {
  readonly values: readonly string[];
  remove(text: string): string;
};

function prepare(values: readonly string[]): Known {
  const forms = new Set(values.flatMap(encodingsOf).filter(form => form.length >= minKnownLength));
  // Longest first: of two forms with the same beginning the longer must match.
  const ordered = [...forms].sort((a, b) => b.length - a.length);
  if (ordered.length === 0) return { values, remove: text => text };
  const any = new RegExp(ordered.map(escapeForm).join('|'), 'g');
  return { values, remove: text => redactCutEnd(text.replace(any, redacted), ordered) };
}

/** Escapes a form for a regular expression. Percent-encoded digits match in either case. */
const escapeForm = (form: string) =>
  form
    .replaceAll(/[$()*+./?[\\\]^{|}-]/g, '\\$&')
    .replaceAll(/%[A-F\d]{2}/g, code => `(?:${code}|${code.toLowerCase()})`);

/** Redacts the beginning of a known value at the end of a text that was cut off there. */
function redactCutEnd(text: string, forms: readonly string[]): string {
  for (const form of forms) {
    const tail = Math.max(0, text.length - form.length + 1);
    const at = text.indexOf(form.slice(0, minKnownLength), tail);
    if (at >= 0 && form.startsWith(text.slice(at))) return text.slice(0, at) + redacted;
  }
  return text;
}

function redactValue(value: unknown, text: (given: string) => string, depth: number): unknown {
  if (typeof value === 'string') return text(value);
  if (value instanceof Error) return text(value.stack ?? value.message);
  if (Array.isArray(value)) return depth > 1 ? redactItems(value, text, depth - 1) : tooDeep;
  if (!isObject(value) || value instanceof Date) return value;
  return depth > 1 ? redactMembers(value, text, depth - 1) : tooDeep;
}

function redactMembers(
  members: object,
  text: (given: string) => string,
  depth: number,
): Record<string, unknown> {
  const entries = Object.entries(members);
  // In `{ name, value }` pairs of headers and variables, one member names the other.
  const named = entries.find(([key]) => key === 'name' || key === 'key')?.[1];
  const isSecretPair = typeof named === 'string' && isSecretName(named);
  return Object.fromEntries(
    entries.map(([key, value]) => [
      key,
      (isSecretName(key) || (isSecretPair && key === 'value')) && value !== null
        ? redacted
        : redactValue(value, text, depth),
    ]),
  );
}

/** In command arguments, a secret follows the option that names it. */
function redactItems(
  items: readonly unknown[],
  text: (given: string) => string,
  depth: number,
): readonly unknown[] {
  return items.map((item, index) => {
    const before: unknown = items[index - 1];
    const isOption = typeof before === 'string' && /^--?[\w-]+$/.test(before);
    return isOption && typeof item === 'string' && isSecretName(before)
      ? redacted
      : redactValue(item, text, depth);
  });
}
