import { HubError } from '#core';
import { type Path, type SourceLocation, lineAndColumnOf } from './source-map.ts';

export type Problem = {
  readonly path: Path;
  /** What is wrong and what to write instead. */
  readonly text: string;
  /** True if the text only says what is allowed. The message then shows the invalid value before it. */
  readonly showsValue?: boolean;
};

export type LocatedProblem = {
  readonly location: SourceLocation;
  readonly text: string;
  /** The invalid value, shown before the text. */
  readonly shown?: { readonly value: unknown };
};

const shownLength = 60;

/** Creates the error for all problems, one per line, in file order. Problems of several files are grouped by file. */
export function invalidFile(problems: readonly LocatedProblem[]): HubError {
  const files = [...new Set(problems.map(({ location }) => location.source.file))];
  const sorted = problems
    .map(({ location, text, shown }) => {
      const { file } = location.source;
      const { line, column } = lineAndColumnOf(location);
      const path = pathText(location.path);
      const value = shown ? `${shownValue(shown.value, location.path)} is not allowed: ` : '';
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

/** Formats a value for a message: shortened, and only its type if it may be a secret. */
function shownValue(value: unknown, path: Path): string {
  const type = typeName(value);
  if (path[2] === 'env' || path[2] === 'headers') return `${type} (not shown)`;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') return type;
  const text = JSON.stringify(path[2] === 'url' ? withoutCredentials(value) : value);
  return text.length > shownLength ? `${text.slice(0, shownLength)}…"` : text;
}

function typeName(value: unknown): string {
  if (value === undefined) return 'a missing value';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** Removes the password and the query, which may contain a key, from a URL. */
const withoutCredentials = (url: string) =>
  url.replace(/\/\/[^/?#]*@/, '//…@').replace(/[?#].*$/s, '?…');
