import { HubError } from '#core';
import type { Options, Values } from './command.ts';

/** Value of an option with a value; undefined if it is not set. */
export function textOf(values: Values, name: string): string | undefined {
  const value = values[name];
  return typeof value === 'string' ? value : undefined;
}

/** Values of a repeatable option or positional; empty if it is not set. */
export function textsOf(values: Values, name: string): readonly string[] {
  const value = values[name];
  return Array.isArray(value) ? value.map(String) : [];
}

/** Value of a required positional, which the parser has checked. */
export function wordOf(values: Values, name: string): string {
  const word = textOf(values, name);
  if (word === undefined) throw new TypeError(`${name} is no positional that must be there`);
  return word;
}

/** Whole number from `least` to `most`. Throws HUB_USAGE. */
export function numberOf(
  values: Values,
  name: string,
  { least, most }: { readonly least: number; readonly most: number },
): number | undefined {
  const text = textOf(values, name);
  if (text === undefined) return undefined;
  const number = Number(text);
  if (/^\d{1,9}$/.test(text) && number >= least && number <= most) return number;
  throw new HubError(
    'HUB_USAGE',
    `--${name}: ${JSON.stringify(text)} is not allowed: write a number from ${least} to ${most}`,
  );
}

/** `--json`, for all commands whose output scripts may parse. */
export const jsonOption = {
  json: { type: 'boolean', help: 'Print one JSON document, for scripts.' },
} as const satisfies Options;

/** Formats the output of `--json`. */
export const asJson = (value: unknown) => JSON.stringify(value, null, 2);
