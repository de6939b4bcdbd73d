import { createHash } from 'node:crypto';
import { isObject } from '#core';
import { createLookalikes, valueOf } from '#jsonrpc';

/** What is pinned of a server. Its instructions count as one item with an empty name. */
export const pinnedKinds = ['tool', 'prompt', 'instructions'] as const;
export type PinnedKind = (typeof pinnedKinds)[number];

export type DefinitionMembers = { readonly [member: string]: unknown };

/** The part of an item that models and people read. */
export type Definition = {
  /** Absent if the definition is too long to be stored. */
  readonly value?: DefinitionMembers;
  /** Digest of the canonical text of the value. */
  readonly hash: string;
};

/** The members that are pinned, in the order of the lock file. `_meta`, icons and `execution` reach no model. */
const members: Readonly<Record<Exclude<PinnedKind, 'instructions'>, readonly string[]>> = {
  tool: ['title', 'description', 'inputSchema', 'outputSchema', 'annotations'],
  prompt: ['title', 'description', 'arguments'],
};

/** Other members that clients take for those, because they ignore case. */
const lookalikes = {
  tool: createLookalikes(members.tool),
  prompt: createLookalikes(members.prompt),
};

/** The definition in an item of a list. The order of members in objects does not matter. */
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
    // Nested too deeply to be sorted, or not JSON in a file that was edited: compared by its bytes.
    return { hash: hashOf(bytes) };
  }
}

export const instructionsDefinition = (text: string): Definition => definitionWith({ text });

/** A definition with its hash. Throws RangeError if it is nested too deeply. */
export const definitionWith = (value: DefinitionMembers): Definition => ({
  value,
  hash: hashOf(JSON.stringify(sorted(value))),
});

const hashOf = (data: string | Buffer) =>
  `sha256-${createHash('sha256').update(data).digest('base64')}`;

/** The value with the members of all objects in alphabetical order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const names = Object.keys(value).sort();
  // Object.fromEntries defines members also for names such as "__proto__".
  return Object.fromEntries(names.map(name => [name, sorted(value[name])]));
}
