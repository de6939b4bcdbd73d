import { findClosest } from '#config';
import { HubError } from '#core';
import { textsIn } from './responses.ts';

/** Parsed options and positionals by name: strings, booleans and lists of strings. */
export type Values = Readonly<Record<string, unknown>>;

/** Returns the value of an option that takes one; undefined if it is not set. */
export function textOf(values: Values, name: string): string | undefined {
  const value = values[name];
  return typeof value === 'string' ? value : undefined;
}

/**
 * Returns the server of `--server`, or "@" and the profile of `--profile`; undefined for all servers. Throws HUB_USAGE
 * if both are set.
 */
export function placeOf(values: Values): string | undefined {
  const server = textOf(values, 'server');
  const profile = textOf(values, 'profile');
  if (server !== undefined && profile !== undefined)
    throw usageError('--profile: a single server has no profile. Leave out --profile or --server');
  return profile === undefined ? server : `@${profile}`;
}

/** Returns the values of a repeatable option or positional; empty if it is not set. */
export const textsOf = (values: Values, name: string): readonly string[] => textsIn(values[name]);

/** Returns the value of a required positional. The parser has checked that it exists. */
export function wordOf(values: Values, name: string): string {
  const word = textOf(values, name);
  if (word === undefined) throw new TypeError(`${name} is not a required positional`);
  return word;
}

/**
 * Returns the value of an option with fixed choices; undefined if it is not given. Throws HUB_USAGE for another value.
 */
export function choiceOf<Choice extends string>(
  values: Values,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const text = textOf(values, name);
  const choice = choices.find(one => one === text);
  if (text === undefined || choice !== undefined) return choice;
  throw usageError(
    `--${name}: ${JSON.stringify(text)} is not allowed: write ${choices.map(one => JSON.stringify(one)).join(' or ')}`,
  );
}

/** Returns the value of an option as a whole number from `least` to `most`. Throws HUB_USAGE for any other value. */
export function numberOf(
  values: Values,
  name: string,
  { least, most }: { readonly least: number; readonly most: number },
): number | undefined {
  const text = textOf(values, name);
  if (text === undefined) return undefined;
  const number = Number(text);
  if (/^\d{1,9}$/.test(text) && number >= least && number <= most) return number;
  throw usageError(
    `--${name}: ${JSON.stringify(text)} is not allowed: write a number from ${least} to ${most}`,
  );
}

export const usageError = (message: string, cause?: unknown) =>
  new HubError('HUB_USAGE', message, { cause });

/**
 * Returns the question "Did you mean" with the most similar name, after `stop` and a space. Empty if no name is
 * similar.
 */
export function guess(word: string, names: readonly string[], stop = ''): string {
  const meant = findClosest(word, names);
  return meant === undefined ? '' : `${stop} Did you mean ${JSON.stringify(meant)}?`;
}

/** Formats a number with its noun: `1 server`, `2 servers`. */
export const count = (number: number, noun: string) =>
  `${number} ${noun}${number === 1 ? '' : 's'}`;

/** Formats the output of `--json`. */
export const asJson = (value: unknown) => JSON.stringify(value, null, 2);
