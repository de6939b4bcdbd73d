import { parseEnv } from 'node:util';
import { HubError, isObject, shortened } from '#core';
import { type Problem, pathText } from './problem.ts';
import type { Path } from './source-map.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Keys of a server and of the hub whose values may contain variables. */
export const expandedKeys = 'token command args env url headers oauth cwd mounts image'.split(' ');

/** Keys of the file, besides those of servers, whose values may refer to secrets. */
export const ownParts = ['token', 'clients', 'models', 'documentation'];

/** Value of a secret, or a sentence that names the secret and says why it cannot be read, with the remedy. */
type SecretReading = { readonly value: string } | { readonly fault: string };

/** Secrets by name. A secret that is not set is absent. */
export type SecretValues = ReadonlyMap<string, SecretReading>;

/** Reads secrets by name. Does not reject if one of them cannot be read. */
export type ReadSecrets = (names: readonly string[]) => Promise<SecretValues>;

const marks = /\$\$|\$\{([^{}]*)\}|\$\{/g;
const reference =
  /^(?:(?<name>[A-Za-z_][A-Za-z0-9_]*)|secret:(?<secret>[A-Za-z0-9_][\w.-]{0,127}))(?::-(?<fallback>[^]*))?$/;
const malformed = 'write ${NAME}, ${NAME:-default} or ${secret:NAME}, and $$ for a dollar sign';

const readReference = (inside: string | undefined) => reference.exec(inside ?? '')?.groups ?? {};

/**
 * Expands `${NAME}`, `${NAME:-default}` and `${secret:NAME}` in all strings of a value; `$$` is a literal dollar sign.
 * As with the shell's `:-`, an empty variable counts as unset. `unresolved` has the paths of strings that miss a
 * variable or secret, `secretFaults` a problem for each missing secret.
 */
export function expandStrings(given: unknown, path: Path, env: Environment, secrets: SecretValues) {
  const problems: Problem[] = [];
  const unresolved = new Set<string>();
  const secretFaults: Problem[] = [];
  const expand = (value: unknown, at: Path): unknown => {
    if (typeof value === 'string') {
      const expanded = expandText(value, env, secrets);
      const { text, faults } = expanded;
      problems.push(...faults.map(fault => ({ path: at, text: fault })));
      secretFaults.push(...expanded.secretFaults.map(fault => ({ path: at, text: fault })));
      const isWhole = faults.length + expanded.secretFaults.length === 0;
      if (!isWhole) unresolved.add(pathText(at));
      return isWhole ? text : value;
    }
    if (Array.isArray(value)) return value.map((item, index) => expand(item, [...at, index]));
    if (!isObject(value)) return value;
    const entries = Object.entries(value);
    return Object.fromEntries(entries.map(([key, item]) => [key, expand(item, [...at, key])]));
  };
  return { value: expand(given, path), unresolved, problems, secretFaults };
}

/** Expands the strings of an entry like `expandStrings`, in the keys that allow variables. */
export function expandServer(entry: unknown, path: Path, env: Environment, secrets: SecretValues) {
  if (!isObject(entry))
    return { value: entry, unresolved: new Set<string>(), problems: [], secretFaults: [] };
  const allowed = Object.entries(entry).filter(([key]) => expandedKeys.includes(key));
  const expanded = expandStrings(Object.fromEntries(allowed), path, env, secrets);
  const { value } = expanded;
  return { ...expanded, value: { ...entry, ...(isObject(value) && value) } };
}

/** Returns the variables in a text, in order and without duplicates; secrets as `secret:NAME`. */
export const variablesIn = (text: string): readonly string[] => [...referencesIn(text).keys()];

/** Returns the variables in a text by name, each with true if all references to it have a default. */
function referencesIn(text: string): ReadonlyMap<string, boolean> {
  const found = new Map<string, boolean>();
  for (const [, inside] of text.matchAll(marks)) {
    const { name, secret, fallback } = readReference(inside);
    const whole = secret === undefined ? name : `secret:${secret}`;
    if (whole !== undefined) found.set(whole, fallback !== undefined && found.get(whole) !== false);
  }
  return found;
}

/** Yields the variables in a value, with their paths. */
export function* usesIn(
  value: unknown,
  path: string,
): Generator<{ readonly name: string; readonly path: string; readonly hasDefault: boolean }> {
  if (typeof value === 'string')
    for (const [name, hasDefault] of referencesIn(value)) yield { name, path, hasDefault };
  else if (Array.isArray(value))
    for (const [index, item] of value.entries()) yield* usesIn(item, `${path}[${index}]`);
  else if (isObject(value))
    for (const [key, item] of Object.entries(value)) yield* usesIn(item, `${path}.${key}`);
}

/** Returns the names of the secrets in the strings of a value, without duplicates. */
export const secretsIn = (value: unknown): readonly string[] => [
  ...new Set(secretUsesIn(value, '').map(({ secret }) => secret)),
];

/** Returns the secrets in the strings of a value, with their paths. */
export const secretUsesIn = (value: unknown, path: string) =>
  [...usesIn(value, path)].flatMap(({ name, path: at, hasDefault }) => {
    const secret = /^secret:(.*)/.exec(name)?.[1];
    return secret === undefined ? [] : [{ secret, path: at, ...(hasDefault && { hasDefault }) }];
  });

/** Returns the names of the secrets that an entry refers to, in the keys that allow variables. */
export const secretsOfEntry = (entry: unknown): readonly string[] =>
  isObject(entry) ? secretsIn(expandedKeys.map(key => entry[key])) : [];

const notSet = (name: string): SecretReading => ({
  fault: `secret ${name} is not set. Run agenthub secret set ${name}`,
});

/** Expands the variables of one string. Returns a sentence for each variable that cannot be expanded. */
function expandText(text: string, env: Environment, secrets: SecretValues) {
  const faults: string[] = [];
  const secretFaults: string[] = [];
  const expandSecret = (name: string, fallback: string | undefined) => {
    const reading =
      secrets.get(name) ?? (fallback === undefined ? notSet(name) : { value: fallback });
    if ('value' in reading) return reading.value;
    secretFaults.push(reading.fault);
    return undefined;
  };
  const expanded = text.replaceAll(marks, (mark, inside: string | undefined) => {
    if (mark === '$$') return '$';
    const { name, secret, fallback } = readReference(inside);
    if (secret !== undefined) return expandSecret(secret, fallback) ?? mark;
    if (name === undefined) {
      const written = inside === undefined ? '"${" without its "}"' : shortened(mark);
      faults.push(`${written} is not a variable: ${malformed}`);
      return mark;
    }
    const value = (Object.hasOwn(env, name) && env[name]) || fallback;
    if (value === undefined) {
      const short = shortened(name);
      faults.push(
        `the variable ${short} is not set. Set it in the environment or in .env, or write \${${short}:-default}`,
      );
    }
    return value ?? mark;
  });
  return { text: expanded, faults, secretFaults };
}

type Fits = RegExp | ((value: string) => boolean);

const shownLength = 60;

/** Pattern of a host with optional scheme, port and path. An address that matches cannot contain a password. */
const plainAddress = /^(?:[\w+.-]+:\/\/)?(?:[\w.-]+(?::\d{1,5})?)?(?:\/[\w.-]*)*$/;

/** Merges the process environment over the text of a `.env` file, which may begin with a byte order mark. */
export const mergeEnvironment = (env: Environment, dotenv: string): Environment => ({
  ...parseEnv(dotenv.replace(/^\uFEFF/, '')),
  ...env,
});

export type Variables = ReturnType<typeof createVariables>;

/**
 * Creates a reader of environment variables. `done` throws all problems together. An empty variable counts as unset.
 * `shownAs` returns the name of a variable in messages.
 */
export function createVariables(env: Environment, shownAs = (name: string) => name) {
  const problems: string[] = [];
  const fail = (name: string, text: string) => void problems.push(`${shownAs(name)}: ${text}`);

  function refuse(name: string, value: string, allowed: string, isShown = true): void {
    const shown = isShown ? JSON.stringify(value.slice(0, shownLength)) : 'the value (not shown)';
    fail(name, `${shown} is not allowed. Write ${allowed}`);
  }

  function find(name: string): string | undefined {
    const value = Object.hasOwn(env, name) ? env[name]?.trim() : undefined;
    return value === '' ? undefined : value;
  }

  /** Reads a variable. Its problem shows the value if `isShown` returns true for it. */
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

  /** Reads a number from `least` to `most`, by default a whole one. */
  function number(name: string, least: number, most: number, kind: 'whole' | 'fraction' = 'whole') {
    const value = find(name);
    if (value === undefined) return undefined;
    const isWhole = kind === 'whole';
    const number = (isWhole ? /^\d+$/ : /^\d+(?:\.\d+)?$/).test(value) ? Number(value) : NaN;
    if (!(number >= least && number <= most))
      refuse(name, value, `a ${isWhole ? 'whole ' : ''}number from ${least} to ${most}`);
    return number;
  }

  /** Reads comma-separated values; returns an empty list if the variable is not set. */
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
