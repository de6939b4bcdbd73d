import { HubError } from '#core';
import { type Path, type Spot, placeOf } from './located.ts';

/** One thing that is wrong with a file. */
export type Problem = {
  readonly path: Path;
  /** What is wrong and what to write instead. */
  readonly text: string;
  /** True where the text says what is allowed, and the value that stands there goes before it. */
  readonly showsValue?: boolean;
};

/** A problem that knows where it stands, in whichever file that is. */
export type Placed = {
  readonly spot: Spot;
  readonly text: string;
  /** The value that goes before the text. */
  readonly shown?: { readonly value: unknown };
};

const shownLength = 60;

/**
 * The error for everything that is wrong, one problem a line, in the order of the file. Where several
 * files were read, that of the first problem comes first.
 */
export function invalidFile(problems: readonly Placed[]): HubError {
  const files = [...new Set(problems.map(({ spot }) => spot.source.file))];
  const told = problems
    .map(problem => ({ ...problem, ...placeOf(problem.spot), file: problem.spot.source.file }))
    .sort(
      (a, b) =>
        files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line || a.column - b.column,
    )
    .map(({ spot, file, line, column, text, shown }) => {
      const name = pathText(spot.path);
      const value = shown ? `${shownValue(shown.value, spot.path)} is not allowed: ` : '';
      const where = `${file}:${line}:${column}`;
      return { name, line: `${where}: ${name === '' ? '' : `${name}: `}${value}${text}` };
    });
  const unique = [...new Map(told.map(each => [each.line, each])).values()];
  return new HubError('HUB_CONFIG_INVALID', unique.map(({ line }) => line).join('\n'), {
    data: { problems: unique.map(({ name, line }) => ({ path: name, message: line })) },
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

/** The value as a message shows it: short, and only its type where it may be a secret. */
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

/** A URL may carry a password before its host and a key after its path. */
const withoutCredentials = (url: string) =>
  url.replace(/\/\/[^/?#]*@/, '//…@').replace(/[?#].*$/s, '?…');
