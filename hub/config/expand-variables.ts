import { isObject } from '#core';
import type { Path } from './source-map.ts';
import { type Problem, pathText } from './problem.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Keys of a server, and of the hub, in which variables are expanded. */
export const expandedKeys = 'token command args env url headers cwd mounts image'.split(' ');

const marks = /\$\$|\$\{([^{}]*)\}|\$\{/g;
const reference = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([^]*))?$/;
const malformed = 'write ${NAME} or ${NAME:-default}, and $$ for a dollar sign';

/**
 * Expands `${NAME}` and `${NAME:-default}` in the keys that allow it; `$$` is a literal dollar sign. As with the
 * shell's `:-`, an empty variable counts as unset. Reports all missing variables together. `path` is the path of the
 * entry. `unresolved` contains the paths (as text) of the strings in which a variable is missing.
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
