import { createHash } from 'node:crypto';
import { isObject } from '#core';
import { createLookalikes, valueOf } from '#jsonrpc';

/** Parts of a server that are pinned. Its instructions count as one item with an empty name. */
export const pinnedKinds = ['tool', 'prompt', 'instructions'] as const;
export type PinnedKind = (typeof pinnedKinds)[number];

export type DefinitionMembers = { readonly [member: string]: unknown };

/** The part of an item that models and people read. */
export type Definition = {
  /** Absent if the definition is too long to be stored. */
  readonly value?: DefinitionMembers;
  /** SHA-256 of the canonical JSON of the value. */
  readonly hash: string;
};

/** Pinned members of an item, in the order of the lock file. `_meta`, icons and `execution` reach no model. */
const members: Readonly<Record<Exclude<PinnedKind, 'instructions'>, readonly string[]>> = {
  tool: ['title', 'description', 'inputSchema', 'outputSchema', 'annotations'],
  prompt: ['title', 'description', 'arguments'],
};

/** Finds members whose names differ only in case from pinned ones: some clients ignore case. */
const lookalikes = {
  tool: createLookalikes(members.tool),
  prompt: createLookalikes(members.prompt),
};

/** Returns the definition of a listed item. The order of members does not affect its hash. */
export function definitionOf(kind: 'tool' | 'prompt', bytes: Buffer): Definition {
  try {
    const item = valueOf(bytes, { start: 0, end: bytes.length });
    const has = (name: string) => isObject(item) && Object.hasOwn(item, name);
    const alike = Object.keys(item ?? {}).filter(name => lookalikes[kind](name) !== undefined);
    const found = [...members[kind].filter(has), ...alike];
    return definitionWith(
      Object.fromEntries(found.map(name => [name, isObject(item) ? sorted(item[name]) : null])),
    );
  } catch {
    // Nested too deeply to be sorted, or invalid JSON in an edited file: compared by its bytes.
    return { hash: hashOf(bytes) };
  }
}

export const instructionsDefinition = (text: string): Definition => definitionWith({ text });

/** Returns a definition with its hash. Throws RangeError if the value is nested too deeply. */
export const definitionWith = (value: DefinitionMembers): Definition => ({
  value,
  hash: hashOf(JSON.stringify(sorted(value))),
});

const hashOf = (data: string | Buffer) =>
  `sha256-${createHash('sha256').update(data).digest('base64')}`;

/** Returns a value with the members of all objects in alphabetical order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const names = Object.keys(value).sort();
  // Object.fromEntries also defines members with names such as "__proto__".
  return Object.fromEntries(names.map(name => [name, sorted(value[name])]));
}

/** Keywords of JSON Schema whose lists are sets. Programs that make them of sets write another order at each start. */
const setKeywords: ReadonlySet<string> = new Set(['enum', 'required', 'type']);

/** Returns a hash that the order of sets does not affect. */
export function orderlessHashOf({ value, hash }: Definition): string {
  try {
    return value ? hashOf(JSON.stringify(withSortedSets(value))) : hash;
  } catch {
    return hash; // Nested too deeply.
  }
}

/** True if two definitions differ at most in the order of sets. */
export const isSameButForOrder = (one: Definition, other: Definition): boolean =>
  one.hash === other.hash || orderlessHashOf(one) === orderlessHashOf(other);

function withSortedSets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withSortedSets);
  if (!isObject(value)) return value;
  const members = Object.entries(value).map(([key, inside]) => [
    key,
    setKeywords.has(key) && Array.isArray(inside)
      ? inside.map(item => JSON.stringify(item)).toSorted()
      : withSortedSets(inside),
  ]);
  return Object.fromEntries(members);
}
