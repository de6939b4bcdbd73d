import { parseEnv } from 'node:util';
import { HubError } from '#core';
import type { Environment } from './expand-variables.ts';

type Fits = RegExp | ((value: string) => boolean);

const shownLength = 60;

/** A host with optional scheme, port and path. Cannot contain a password. */
const plainAddress = /^(?:[\w+.-]+:\/\/)?(?:[\w.-]+(?::\d{1,5})?)?(?:\/[\w.-]*)*$/;

/** Merges the process environment over the text of a `.env` file. */
export const mergeEnvironment = (env: Environment, dotenv: string): Environment => ({
  ...parseEnv(dotenv),
  ...env,
});

export type Variables = ReturnType<typeof createVariables>;

/**
 * Creates a reader of an environment. It collects all problems, which `done` throws together. An empty variable counts
 * as unset.
 */
export function createVariables(env: Environment) {
  const problems: string[] = [];
  const fail = (name: string, text: string) => void problems.push(`${name}: ${text}`);

  function refuse(name: string, value: string, allowed: string, isShown = true): void {
    const shown = isShown ? JSON.stringify(value.slice(0, shownLength)) : 'the value (not shown)';
    fail(name, `${shown} is not allowed. Write ${allowed}`);
  }

  function find(name: string): string | undefined {
    const value = Object.hasOwn(env, name) ? env[name]?.trim() : undefined;
    return value === '' ? undefined : value;
  }

  /** Problems show the value if `isShown` returns true for it. */
  function read(name: string, fits: Fits, allowed: string, isShown: (value: string) => boolean) {
    const value = find(name);
    if (value !== undefined && !isFit(value, fits)) refuse(name, value, allowed, isShown(value));
    return value;
  }

  function choice<T extends string>(name: string, choices: readonly T[]): T | undefined {
    const value = find(name)?.toLowerCase();
    const chosen = choices.find(one => one === value);
    if (value !== undefined && chosen === undefined) refuse(name, value, choices.join(', '));
    return chosen;
  }

  /** A number from `least` to `most`, by default a whole one. */
  function number(name: string, least: number, most: number, kind: 'whole' | 'fraction' = 'whole') {
    const value = find(name);
    if (value === undefined) return undefined;
    const isWhole = kind === 'whole';
    const number = (isWhole ? /^\d+$/ : /^\d+(?:\.\d+)?$/).test(value) ? Number(value) : NaN;
    if (!(number >= least && number <= most))
      refuse(name, value, `a ${isWhole ? 'whole ' : ''}number from ${least} to ${most}`);
    return number;
  }

  /** Comma-separated values; empty if the variable is not set. */
  function list(name: string, fits: Fits, allowed: string): readonly string[] {
    const values = (find(name) ?? '').split(',').map(value => value.trim());
    const given = values.filter(value => value !== '');
    for (const value of given) if (!isFit(value, fits)) refuse(name, value, allowed);
    return given;
  }

  return {
    fail,
    choice,
    number,
    list,
    flag: (name: string) =>
      ['1', 'true'].includes(choice(name, ['1', '0', 'true', 'false']) ?? '0'),
    text: (name: string, fits: Fits = () => true, allowed = '') =>
      read(name, fits, allowed, () => true),
    /** Like `text`, but a message never shows the value. */
    secret: (name: string, fits: Fits, allowed: string) => read(name, fits, allowed, () => false),
    /** Like `text`, but a message does not show a value that may contain a password. */
    address: (name: string, fits: Fits, allowed: string) =>
      read(name, fits, allowed, value => plainAddress.test(value)),
    /** Throws HUB_CONFIG_INVALID if any variable was invalid. */
    done: () => {
      if (problems.length > 0) throw new HubError('HUB_CONFIG_INVALID', problems.join('\n'));
    },
  };
}

const isFit = (value: string, fits: Fits) =>
  fits instanceof RegExp ? fits.test(value) : fits(value);
