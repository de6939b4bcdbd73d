import { parseEnv } from 'node:util';
import { HubError } from '#core';
import type { Environment } from './env.ts';

type Range = {
  readonly least: number;
  readonly most: number;
  /** False where a fraction is allowed. */
  readonly whole: boolean;
};

/** Reads variables, and gathers what is wrong with them until `done` tells it all at once. */
export type Variables = {
  readonly text: (
    name: string,
    fits?: (value: string) => boolean,
    allowed?: string,
  ) => string | undefined;
  /** Like `text`; the value is never shown. */
  readonly secret: (name: string, pattern: RegExp, allowed: string) => string | undefined;
  /** Like `text`; a value that may hold a password is not shown. */
  readonly address: (
    name: string,
    fits: (value: string) => boolean,
    allowed: string,
  ) => string | undefined;
  /** A number from `least` to `most`. */
  readonly number: (name: string, range: Range) => number | undefined;
  readonly choice: <T extends string>(name: string, choices: readonly T[]) => T | undefined;
  /** Values with commas between them; none where the variable is not set. */
  readonly list: (
    name: string,
    fits: (value: string) => boolean,
    allowed: string,
  ) => readonly string[];
  readonly fail: (name: string, text: string) => void;
  /** Throws HUB_CONFIG_INVALID where anything failed. */
  readonly done: () => void;
};

const shownLength = 60;

/** A host with at most scheme, port and path: no room for a password. */
const plainAddress = /^(?:[\w+.-]+:\/\/)?(?:[\w.-]+(?::\d{1,5})?)?(?:\/[\w.-]*)*$/;

/** The process environment over what the text of a `.env` file says: what is set by hand goes first. */
export function mergeEnvironment(env: Environment, dotenv: string): Environment {
  return { ...parseEnv(dotenv), ...env };
}

/** A reader of an environment in which a variable set to nothing counts as not set. */
export function createVariables(env: Environment): Variables {
  const problems: string[] = [];
  const fail = (name: string, text: string) => void problems.push(`${name}: ${text}`);
  const refuse = (name: string, value: string, allowed: string) =>
    fail(name, `${JSON.stringify(value.slice(0, shownLength))} is not allowed. Write ${allowed}`);

  const refuseUnseen = (name: string, allowed: string) =>
    fail(name, `the value (not shown) is not allowed. Write ${allowed}`);

  function find(name: string): string | undefined {
    const value = Object.hasOwn(env, name) ? env[name]?.trim() : undefined;
    return value === '' ? undefined : value;
  }

  return {
    fail,
    text(name, fits = () => true, allowed = '') {
      const value = find(name);
      if (value !== undefined && !fits(value)) refuse(name, value, allowed);
      return value;
    },
    secret(name, pattern, allowed) {
      const value = find(name);
      if (value !== undefined && !pattern.test(value)) refuseUnseen(name, allowed);
      return value;
    },
    address(name, fits, allowed) {
      const value = find(name);
      if (value === undefined || fits(value)) return value;
      if (plainAddress.test(value)) refuse(name, value, allowed);
      else refuseUnseen(name, allowed);
      return value;
    },
    number(name, { least, most, whole }) {
      const value = find(name);
      if (value === undefined) return undefined;
      const number = (whole ? /^\d+$/ : /^\d+(?:\.\d+)?$/).test(value) ? Number(value) : NaN;
      if (!(number >= least && number <= most))
        refuse(name, value, `a ${whole ? 'whole ' : ''}number from ${least} to ${most}`);
      return number;
    },
    choice(name, choices) {
      const value = find(name)?.toLowerCase();
      const chosen = choices.find(choice => choice === value);
      if (value !== undefined && chosen === undefined) refuse(name, value, choices.join(', '));
      return chosen;
    },
    list(name, fits, allowed) {
      const values = (find(name) ?? '').split(',').map(value => value.trim());
      const given = values.filter(value => value !== '');
      for (const value of given) if (!fits(value)) refuse(name, value, allowed);
      return given;
    },
    done() {
      if (problems.length > 0) throw new HubError('HUB_CONFIG_INVALID', problems.join('\n'));
    },
  };
}
