import { isObject } from '#core';
import type { Path } from './source-map.ts';
import { type Problem, pathText } from './problem.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** A value with its variables expanded. */
type Expanded = {
  readonly value: unknown;
  /** Paths (as text) of the strings that were not expanded because a variable is missing. */
  readonly unresolved: ReadonlySet<string>;
  readonly problems: readonly Problem[];
};

/** Keys of a server, and of the hub, in which variables are expanded. */
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
 * Expands `${NAME}` and `${NAME:-default}` in the keys that allow it; `$$` is a literal dollar sign. As with the
 * shell's `:-`, an empty variable counts as unset. Reports all missing variables together. `path` is the path of the
 * entry.
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

/** Names of the variables in a text, in order and without duplicates. */
export function variablesIn(text: string): readonly string[] {
  const names = Array.from(text.matchAll(marks), ([, inside]) => reference.exec(inside ?? '')?.[1]);
  return [...new Set(names.filter(name => name !== undefined))];
}

/** Expands the variables of one string, and returns a sentence for each one that cannot be expanded. */
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
