import { isObject } from '#core';
import type { Path } from './located.ts';
import { type Problem, pathText } from './problem.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** A value with its variables filled in, and the paths where that was not possible. */
type Expanded = {
  readonly value: unknown;
  /** Paths, as text, of strings left as they are because a variable is missing. */
  readonly unresolved: ReadonlySet<string>;
  readonly problems: readonly Problem[];
};

/** The keys of a server, and of the hub, in which variables are filled in. */
export const expandedKeys: readonly string[] = [
  'token',
  'command',
  'args',
  'env',
  'url',
  'headers',
  'cwd',
  'mounts',
  'image',
];

const marks = /\$\$|\$\{([^{}]*)\}|\$\{/g;
const reference = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([^]*))?$/;
const malformed = 'write ${NAME} or ${NAME:-default}, and $$ for a dollar sign';

/**
 * Fills in `${NAME}` and `${NAME:-default}` wherever a server's entry allows it; `$$` stands for a
 * dollar sign. A variable that is set to nothing counts as not set, as in `:-` of the shell. All that
 * is missing is told together. `path` is where the entry stands.
 */
export function expandServer(entry: unknown, path: Path, env: Environment): Expanded {
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
    return isObject(value)
      ? Object.fromEntries(
          Object.entries(value).map(([key, item]) => [key, expand(item, [...at, key])]),
        )
      : value;
  };
  if (!isObject(entry)) return { value: entry, unresolved, problems };
  const value = Object.fromEntries(
    Object.entries(entry).map(([key, item]) => [
      key,
      expandedKeys.includes(key) ? expand(item, [...path, key]) : item,
    ]),
  );
  return { value, unresolved, problems };
}

/** The names of the variables that a text refers to, each once, in its order. */
export function variablesIn(text: string): readonly string[] {
  const names = Array.from(text.matchAll(marks), ([, inside]) => reference.exec(inside ?? '')?.[1]);
  return [...new Set(names.filter(name => name !== undefined))];
}

/** One string with its variables filled in, and a sentence for each that cannot be. */
function expandText(
  text: string,
  env: Environment,
): { readonly text: string; readonly faults: readonly string[] } {
  const faults: string[] = [];
  const filled = text.replaceAll(marks, (mark, inside: string | undefined) => {
    if (mark === '$$') return '$';
    const [, name, fallback] = reference.exec(inside ?? '') ?? [];
    if (name === undefined) {
      faults.push(
        `${inside === undefined ? '"${" without its "}"' : mark} is not a variable: ${malformed}`,
      );
      return mark;
    }
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (value !== undefined && value !== '') return value;
    if (fallback !== undefined) return fallback;
    faults.push(
      `the variable ${name} is not set. Set it in the environment or in .env, or write \${${name}:-default}`,
    );
    return mark;
  });
  return { text: filled, faults };
}
