import type { z } from 'zod';
import { HubError, shortened } from '#core';
import { type Path, type SourceLocation, lineAndColumnOf } from './source-map.ts';
import { findClosest, nearest } from './suggest.ts';

export type Problem = {
  readonly path: Path;
  /** What is wrong, and what to write instead. */
  readonly text: string;
  /** True if the text only says which values are allowed. The message then shows the invalid value before the text. */
  readonly showsValue?: boolean;
};

export type LocatedProblem = {
  readonly location: SourceLocation;
  readonly text: string;
  /** The invalid value, shown before the text. */
  readonly shown?: { readonly value: unknown };
};

const shownLength = 60;

/**
 * Creates the error for all problems, one per line, in file order. Problems of several files are grouped by file. Long
 * keys are shortened: entries also come in requests.
 */
export function invalidFile(problems: readonly LocatedProblem[]): HubError {
  const files = [...new Set(problems.map(({ location }) => location.source.file))];
  const sorted = problems
    .map(({ location, text, shown }) => {
      const { file } = location.source;
      const { line, column } = lineAndColumnOf(location);
      const path = pathText(
        location.path.map(part => (typeof part === 'string' ? shortened(part) : part)),
      );
      const value = shown ? deviation(shown.value, location.path) : '';
      const message = `${file}:${line}:${column}: ${path === '' ? '' : `${path}: `}${value}${text}`;
      return { order: files.indexOf(file), line, column, path, message };
    })
    .sort((a, b) => a.order - b.order || a.line - b.line || a.column - b.column);
  const unique = [...new Map(sorted.map(each => [each.message, each])).values()];
  return new HubError('HUB_CONFIG_INVALID', unique.map(({ message }) => message).join('\n'), {
    data: { problems: unique.map(({ path, message }) => ({ path, message })) },
  });
}

/** Formats a path in JavaScript syntax: `servers.memory.args[0]`, `servers["my server"]`. */
export function pathText(path: Path): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    if (!/^[\w$-]+$/.test(part)) return `${text}[${JSON.stringify(part)}]`;
    return text === '' ? part : `${text}.${part}`;
  }, '');
}

const deviation = (value: unknown, path: Path): string =>
  value === undefined ? 'is missing: ' : `${shownValue(value, path)} is not allowed: `;

/** Keys whose values are secret at any path. */
const secretKeys: ReadonlySet<string | number | undefined> = new Set([
  'token',
  'client_secret',
  'key',
]);

/** Formats a value for a message: shortened, and only its type if it may be a secret. */
function shownValue(value: unknown, path: Path): string {
  const type = typeName(value);
  if (path[2] === 'env' || path[2] === 'headers' || secretKeys.has(path.at(-1)))
    return `${type} (not shown)`;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') return type;
  const text = JSON.stringify(path[2] === 'url' ? withoutCredentials(value) : value);
  return text.length > shownLength ? `${text.slice(0, shownLength)}…"` : text;
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/**
 * Removes the password from a URL, and the query, which may contain a key. The URL may be invalid: its scheme may be
 * missing, and its password may contain a slash.
 */
const withoutCredentials = (url: string) =>
  url.replace(/^([a-z][a-z\d+.-]*:\/\/)?[^?#]*@/i, '$1…@').replace(/[?#].*$/s, '?…');

type Issue = z.core.$ZodIssue;

/** The keys that a schema allows. */
export type SchemaKeys = {
  keysAt(path: Path): readonly string[];
  /** Command that prints the schema. */
  readonly command: string;
};

/** Converts zod issues to sentences that tell users what to write. `base` is the path of the validated value. */
export function problemsOf(
  issues: readonly Issue[],
  base: Path,
  keys: SchemaKeys,
): readonly Problem[] {
  return issues.flatMap((issue): readonly Problem[] => {
    const path = [...base, ...pathOf(issue)];
    switch (issue.code) {
      case 'unrecognized_keys':
        return issue.keys.map(key => ({
          path: [...path, key],
          text: unknownKey(key, path, keys),
        }));
      case 'invalid_union':
        return unionProblems(issue, path, keys);
      case 'invalid_key':
        return [{ path, text: issue.issues[0]?.message ?? 'the name is not allowed' }];
      case 'invalid_type':
        return issue.input === undefined && issue.message.endsWith('received undefined')
          ? [{ path, text: `is missing: ${write(issue.expected)}` }]
          : [{ path, text: typeText(issue), showsValue: true }];
      default:
        return [{ path, text: allowed(issue), showsValue: true }];
    }
  });
}

/** Reports the problems of the branch of a union whose own type matches the value. */
function unionProblems(
  issue: Issue & { readonly code: 'invalid_union' },
  path: Path,
  keys: SchemaKeys,
) {
  const meant = issue.errors.find(
    branch => !branch.some(({ code, path: at }) => code === 'invalid_type' && at.length === 0),
  );
  return meant ? problemsOf(meant, path, keys) : [{ path, text: issue.message, showsValue: true }];
}

/** A message names all allowed keys up to this number, and otherwise the nearest three. */
const maxKeysNamed = 8;

/** Maximum number of objects that a message suggests as the right place of a key. */
const maxPlaces = 3;

function unknownKey(key: string, path: Path, schema: SchemaKeys): string {
  const keys = schema.keysAt(path);
  // Objects beside the key that have such a key, as `resources` has `memory` and `listen` has `port`.
  const inside = keys.filter(one => schema.keysAt([...path, one]).includes(key));
  if (inside.length > 0 && inside.length <= maxPlaces)
    return `unknown key here. Did you mean ${inside.map(one => JSON.stringify(`${one}.${key}`)).join(' or ')}?`;
  const closest = findClosest(key, keys);
  if (closest !== undefined) return `unknown key. Did you mean ${JSON.stringify(closest)}?`;
  return keys.length <= maxKeysNamed
    ? `unknown key. Remove it; allowed keys are ${keys.join(', ')}`
    : `unknown key. Remove it; the nearest of ${keys.length} allowed keys are ${nearest(key, keys, 3).join(', ')} ("${schema.command}" has all)`;
}

const written = new Map([
  ['string', 'write a string, in quotes'],
  ['boolean', 'write true or false'],
  ['int', 'write a whole number, without quotes'],
  ['number', 'write a number, without quotes'],
  ['array', 'write a list: [...]'],
  ['object', 'write an object: {...}'],
  ['record', 'write an object: {...}'],
]);

const write = (expected: string) => written.get(expected) ?? `write a value of type ${expected}`;

/** Replaces zod's default message, which only names the received type: the problem shows that anyway. */
const typeText = ({ message, expected }: Issue & { readonly code: 'invalid_type' }) =>
  message.startsWith('Invalid input') ? write(expected) : message;

function allowed(issue: Issue): string {
  // Without a message in the schema, zod describes the deviation, which the problem shows anyway.
  if (!/^(?:Too|Invalid) /.test(issue.message)) return issue.message;
  switch (issue.code) {
    case 'invalid_value':
      return `write ${issue.values.map(value => JSON.stringify(value)).join(' or ')}`;
    case 'too_small':
      if (issue.origin === 'string') return 'write at least one character';
      if (issue.origin === 'array') return 'write at least one entry';
      return `write a number of at least ${issue.minimum}`;
    case 'too_big':
      if (issue.origin === 'string') return `write at most ${issue.maximum} characters`;
      if (issue.origin === 'array') return `write at most ${issue.maximum} entries`;
      return `write a number of at most ${issue.maximum}`;
    default:
      return issue.message;
  }
}

const pathOf = (issue: Issue): Path =>
  issue.path.map(part => (typeof part === 'symbol' ? String(part) : part));
