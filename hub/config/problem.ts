import { HubError, isObject } from '#core';

/** Keys and list positions from the top of the file to a value. */
export type Path = readonly (string | number)[];

/** One thing that is wrong with a file. */
export type Problem = {
  readonly path: Path;
  /** What is wrong and what to write instead. */
  readonly text: string;
  /** True where the text says what is allowed, and the value that stands there goes before it. */
  readonly showsValue?: boolean;
};

/** A place in a file, counted from 1. */
export type Place = { readonly line: number; readonly column: number };

/** What the messages need of the file that was read. */
export type Source = {
  readonly file: string;
  readonly value: unknown;
  readonly placeOf: (path: Path) => Place;
};

const shownLength = 60;

/** The error for everything that is wrong with one file, one problem a line, in the order of the file. */
export function invalidFile(source: Source, problems: readonly Problem[]): HubError {
  const placed = problems
    .map(problem => ({ ...problem, place: source.placeOf(problem.path) }))
    .sort((a, b) => a.place.line - b.place.line || a.place.column - b.place.column);
  const told = placed.map(({ path, place, text, showsValue }) => {
    const where = `${source.file}:${place.line}:${place.column}`;
    const name = pathText(path);
    const value = showsValue ? `${shown(valueAt(source.value, path), path)} is not allowed: ` : '';
    return { name, line: `${where}: ${name === '' ? '' : `${name}: `}${value}${text}` };
  });
  return new HubError('HUB_CONFIG_INVALID', told.map(({ line }) => line).join('\n'), {
    data: { problems: told.map(({ name, line }) => ({ path: name, message: line })) },
  });
}

/** A path as it is written in JavaScript: `servers.memory.args[0]`, `servers["my server"]`. */
export function pathText(path: Path): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    if (!/^[\w$-]+$/.test(part)) return `${text}[${JSON.stringify(part)}]`;
    return text === '' ? part : `${text}.${part}`;
  }, '');
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inside, part) => {
    if (Array.isArray(inside)) return inside[Number(part)];
    return isObject(inside) ? inside[part] : undefined;
  }, value);
}

/** The value as a message shows it: short, and only its type where it may be a secret. */
function shown(value: unknown, path: Path): string {
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

/** A URL may carry a password before its host and a key after its path. */
const withoutCredentials = (url: string) =>
  url.replace(/\/\/[^/?#]*@/, '//…@').replace(/[?#].*$/s, '?…');
