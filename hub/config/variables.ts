import { parseEnv } from 'node:util';
import { HubError } from '#core';
import type { Environment } from './expand-variables.ts';

type Range = {
  readonly least: number;
  readonly most: number;
  /** False if fractions are allowed. */
  readonly whole: boolean;
};

/** Reads variables and collects all problems, which `done` throws together. */
export type Variables = {
  readonly text: (
    name: string,
    fits?: (value: string) => boolean,
    allowed?: string,
  ) => string | undefined;
  /** Like `text`, but a message never shows the value. */
  readonly secret: (name: string, pattern: RegExp, allowed: string) => string | undefined;
  /** Like `text`, but a message does not show a value that may contain a password. */
  readonly address: (
    name: string,
    fits: (value: string) => boolean,
    allowed: string,
  ) => string | undefined;
  /** A number from `least` to `most`. */
  readonly number: (name: string, range: Range) => number | undefined;
  readonly choice: <T extends string>(name: string, choices: readonly T[]) => T | undefined;
  /** Comma-separated values; empty if the variable is not set. */
  readonly list: (
    name: string,
    fits: (value: string) => boolean,
    allowed: string,
  ) => readonly string[];
  readonly fail: (name: string, text: string) => void;
  /** Throws HUB_CONFIG_INVALID if any variable was invalid. */
  readonly done: () => void;
};

const shownLength = 60;

/** A host with optional scheme, port and path. Cannot contain a password. */
const plainAddress = /^(?:[\w+.-]+:\/\/)?(?:[\w.-]+(?::\d{1,5})?)?(?:\/[\w.-]*)*$/;

/** Merges the process environment over the text of a `.env` file. */
export function mergeEnvironment(env: Environment, dotenv: string): Environment {
  return { ...parseEnv(dotenv), ...env };
}

/** Creates a reader of an environment. An empty variable counts as unset. */
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
