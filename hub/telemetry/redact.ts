import { isObject, isSecretName } from '#core';
import { formsOf } from './known-forms.ts';
import { redactShapes } from './secret-shapes.ts';

/** Removes what must not be shown. What it gives back is for people and for logs, never for a server. */
export type Redaction = {
  /** The text without what looks like a credential and without the values known to be secret. */
  readonly text: (text: string) => string;
  /** The same for every string of a value as JSON has them, and without what stands under a telling name. */
  readonly json: (value: unknown) => unknown;
};

/** What stands in place of a credential. */
export const redacted = '[redacted]';
const tooDeep = '[too deep]';

/** Shorter values are not searched for: they would be found in any text. */
export const minKnownLength = 8;
/** Levels of a value that are looked through; a message of a server may have as many. */
const maxDepth = 64;

/** The text without what looks like a credential. */
export const redactText = (text: string): string => redactShapes(text, redacted);

/** The value without what looks like a credential or stands under the name of one. */
export const redactJson = (value: unknown): unknown => within(value, redactText, maxDepth);

/**
 * Removes also the values that are known to be secret, wherever they stand, and what is left of one
 * where a text was cut. `values` is asked each time; the same array is prepared once.
 */
export function createRedaction(values: () => readonly string[]): Redaction {
  let prepared: Known | undefined;
  const text = (given: string) => {
    const wanted = values();
    if (prepared?.values !== wanted) prepared = prepare(wanted);
    return redactText(prepared.remove(given));
  };
  return { text, json: value => within(value, text, maxDepth) };
}

/** For where nothing is known to be secret. */
export const shapesOnly: Redaction = { text: redactText, json: redactJson };

/** The same fields for a log line. What is nested too deeply is left out. */
export const redactFields = (fields: object, { text }: Redaction): Record<string, unknown> =>
  membersOf(fields, text, maxLogDepth);

const maxLogDepth = 6;

type Known = {
  readonly values: readonly string[];
  remove(text: string): string;
};

function prepare(values: readonly string[]): Known {
  const forms = new Set(values.flatMap(formsOf).filter(form => form.length >= minKnownLength));
  // Of two that begin alike the longer one is found first.
  const ordered = [...forms].sort((a, b) => b.length - a.length);
  if (ordered.length === 0) return { values, remove: text => text };
  const any = new RegExp(ordered.map(escaped).join('|'), 'g');
  return { values, remove: text => withoutCut(text.replace(any, redacted), ordered) };
}

/** The form for a regular expression, which takes hexadecimal of percent-encoding in both cases. */
const escaped = (form: string) =>
  form
    .replaceAll(/[$()*+./?[\\\]^{|}-]/g, '\\$&')
    .replaceAll(/%[A-F\d]{2}/g, code => `(?:${code}|${code.toLowerCase()})`);

/** The text without the beginning of a known value that it ends with, since it was cut there. */
function withoutCut(text: string, forms: readonly string[]): string {
  for (const form of forms) {
    const tail = Math.max(0, text.length - form.length + 1);
    const at = text.indexOf(form.slice(0, minKnownLength), tail);
    if (at >= 0 && form.startsWith(text.slice(at))) return text.slice(0, at) + redacted;
  }
  return text;
}

function within(value: unknown, text: (given: string) => string, depth: number): unknown {
  if (typeof value === 'string') return text(value);
  if (value instanceof Error) return text(value.stack ?? value.message);
  if (Array.isArray(value)) return depth > 1 ? itemsOf(value, text, depth - 1) : tooDeep;
  if (!isObject(value) || value instanceof Date) return value;
  return depth > 1 ? membersOf(value, text, depth - 1) : tooDeep;
}

function membersOf(
  members: object,
  text: (given: string) => string,
  depth: number,
): Record<string, unknown> {
  const entries = Object.entries(members);
  // Lists of headers and variables name in one member what stands in the other.
  const named = entries.find(([key]) => key === 'name' || key === 'key')?.[1];
  const isSecretPair = typeof named === 'string' && isSecretName(named);
  return Object.fromEntries(
    entries.map(([key, value]) => [
      key,
      (isSecretName(key) || (isSecretPair && key === 'value')) && value !== null
        ? redacted
        : within(value, text, depth),
    ]),
  );
}

/** In arguments of a command a credential follows its option. */
function itemsOf(
  items: readonly unknown[],
  text: (given: string) => string,
  depth: number,
): readonly unknown[] {
  return items.map((item, index) => {
    const before: unknown = items[index - 1];
    const isOption = typeof before === 'string' && /^--?[\w-]+$/.test(before);
    return isOption && typeof item === 'string' && isSecretName(before)
      ? redacted
      : within(item, text, depth);
  });
}
