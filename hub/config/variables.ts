import { parseEnv } from 'node:util';
import { HubError, isObject } from '#core';
import { type Problem, pathText } from './problem.ts';
import type { Path } from './source-map.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Keys of a server, and of the hub, in which variables are expanded. */
export const expandedKeys = 'token command args env url headers cwd mounts image'.split(' ');

const marks = /\$\$|\$\{([^{}]*)\}|\$\{/g;
const reference = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([^]*))?$/;
const malformed = 'write ${NAME} or ${NAME:-default}, and $$ for a dollar sign';

/**
 * Expands `${NAME}` and `${NAME:-default}` in the keys that allow it; `$$` is a literal dollar sign. As with the
 * shell's `:-`, an empty variable counts as unset. `unresolved` contains the paths of the strings in which a variable
 * is missing.
 */
export function expandServer(entry: unknown, path: Path, env: Environment) {
  const problems: Problem[] = [];
  const unresolved = new Set<string>();
  const expand = (value: unknown, at: Path): unknown => {
    if (typeof value === 'string') {
      const { text, faults } = expandText(value, env);
      problems.push(...faults.map(fault => ({ path: at, text: fault })));
      if (faults.length > 0) unresolved.add(pathText(at));
      return faults.length > 0 ? value : text;
    }
    if (Array.isArray(value)) return value.map((item, index) => expand(item, [...at, index]));
    if (!isObject(value)) return value;
    const entries = Object.entries(value);
    return Object.fromEntries(entries.map(([key, item]) => [key, expand(item, [...at, key])]));
  };
  if (!isObject(entry)) return { value: entry, unresolved, problems };
  const entries = Object.entries(entry).map(([key, item]) => [
    key,
    expandedKeys.includes(key) ? expand(item, [...path, key]) : item,
  ]);
  return { value: Object.fromEntries(entries), unresolved, problems };
}

/** Names of the variables in a text, in order and without duplicates. */
export function variablesIn(text: string): readonly string[] {
  const names = Array.from(text.matchAll(marks), ([, inside]) => reference.exec(inside ?? '')?.[1]);
  return [...new Set(names.filter(name => name !== undefined))];
}

/** Expands the variables of one string, and returns a sentence for each one that cannot be expanded. */
function expandText(text: string, env: Environment) {
  const faults: string[] = [];
  const expanded = text.replaceAll(marks, (mark, inside: string | undefined) => {
    if (mark === '$$') return '$';
    const [, name, fallback] = reference.exec(inside ?? '') ?? [];
    if (name === undefined) {
      const written = inside === undefined ? '"${" without its "}"' : mark;
      faults.push(`${written} is not a variable: ${malformed}`);
      return mark;
    }
    const value = (Object.hasOwn(env, name) && env[name]) || fallback;
    if (value === undefined)
      faults.push(
        `the variable ${name} is not set. Set it in the environment or in .env, or write \${${name}:-default}`,
      );
    return value ?? mark;
  });
  return { text: expanded, faults };
}

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

/** Creates a reader of an environment. `done` throws all problems together. An empty variable counts as unset. */
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
