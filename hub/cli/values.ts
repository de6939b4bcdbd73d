import { HubError } from '#core';
import type { Options, Values } from './command.ts';

/** The value of an option that takes one; undefined where it is not given. */
export function textOf(values: Values, name: string): string | undefined {
  const value = values[name];
  return typeof value === 'string' ? value : undefined;
}

/** The values of an option that may stand several times, or of positionals; none where it is not given. */
export function textsOf(values: Values, name: string): readonly string[] {
  const value = values[name];
  return Array.isArray(value) ? value.map(String) : [];
}

/** The value of a positional that must be there, which the command line has checked. */
export function wordOf(values: Values, name: string): string {
  const word = textOf(values, name);
  if (word === undefined) throw new TypeError(`${name} is no positional that must be there`);
  return word;
}

/** The whole number from `least` to `most` that an option says. Throws HUB_USAGE. */
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

/** `--json`, of every command whose output a script may want to read. */
export const jsonOption = {
  json: { type: 'boolean', help: 'Print one JSON document, for scripts.' },
} as const satisfies Options;

/** A JSON document as `--json` prints it. */
export const asJson = (value: unknown) => JSON.stringify(value, null, 2);
