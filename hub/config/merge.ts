import { type JsonObject, isObject } from '#core';
import { type Written, type WrittenEntry, type WrittenMap, isNull, valueOf } from './located.ts';
import type { Placed } from './problem.ts';

/** Keys of an entry that say one thing in several ways: who says one of them says it anew. */
const spellings = [
  ['disabled', 'enabled'],
  ['transport', 'type'],
  ['restart', 'restart_on_failure'],
];

const forms = ['servers', 'mcpServers'] as const;

/**
 * What a config file says over one that it extends, by these rules. Objects are merged key by key, the
 * servers and their `env`, `headers` and `resources` too. Lists and all other values are replaced. `null`
 * takes away what is below it; over nothing it stays, for the files below that, and in the end for
 * the validation to refuse. What is below keeps its place in the order, which decides who keeps a name;
 * what is new follows. A server keeps the form, `servers` or `mcpServers`, in which it was first written,
 * and with it that form's defaults. Of `disabled` and `enabled`, of `transport` and `type`, and of
 * `restart` and `restart_on_failure`, the one that is written above replaces the other below. Pure.
 */
export function mergeFiles(below: Written, above: Written): Written {
  if (below.kind !== 'map' || above.kind !== 'map') return above;
  return mergeMaps(below, inFormsOf(below, above), 0);
}

/**
 * The entry of a server with a `null` for whatever else it would have from the one below, so that over that
 * one it says what it says by itself. Pure.
 */
export function standingAlone(entry: JsonObject, below: Written): JsonObject {
  return below.kind === 'map'
    ? withNulls(entry, withoutOtherSpellings(below.entries, Object.keys(entry)))
    : entry;
}

function withNulls(above: JsonObject, below: readonly WrittenEntry[]): JsonObject {
  const own = new Map(Object.entries(above));
  for (const { key, value } of below) {
    const said = own.get(key);
    if (said === undefined) own.set(key, null);
    else if (isObject(said) && value.kind === 'map') own.set(key, withNulls(said, value.entries));
  }
  return Object.fromEntries(own);
}

/** Servers that one file has in both forms. */
export function clashesOf(file: Written): readonly Placed[] {
  const [first, second] = forms.map(form => valueOf(file, form));
  if (second?.kind !== 'map') return [];
  return second.entries
    .filter(({ key }) => valueOf(first, key) !== undefined)
    .map(({ key, spot }) => ({
      spot,
      text: `${JSON.stringify(key)} is a server in "servers" too: rename or remove one`,
    }));
}

function merge(below: Written | undefined, above: Written, depth: number): Written {
  return below?.kind === 'map' && above.kind === 'map' ? mergeMaps(below, above, depth) : above;
}

/** `depth` is 0 for a whole file, 1 for all servers and 2 for an entry. */
function mergeMaps(below: WrittenMap, above: WrittenMap, depth: number): WrittenMap {
  const said = above.entries.filter(({ value }) => !isNull(value)).map(({ key }) => key);
  const kept = depth === 2 ? withoutOtherSpellings(below.entries, said) : below.entries;
  const entries = new Map(kept.map(entry => [entry.key, entry]));
  for (const entry of above.entries) {
    const { key, value } = entry;
    const before = entries.get(key)?.value;
    if (isNull(value) && before && !isNull(before)) entries.delete(key);
    else entries.set(key, { ...entry, value: merge(before, value, depth + 1) });
  }
  return { ...above, entries: [...entries.values()] };
}

function withoutOtherSpellings(
  below: readonly WrittenEntry[],
  said: readonly string[],
): readonly WrittenEntry[] {
  return below.filter(
    ({ key }) =>
      !spellings.some(keys => keys.includes(key) && keys.some(k => k !== key && said.includes(k))),
  );
}

/** The file above with each server under the form in which the file below has it. */
function inFormsOf(below: WrittenMap, above: WrittenMap): WrittenMap {
  const formBelow = (name: string) => forms.find(form => valueOf(valueOf(below, form), name));
  const servers = forms.flatMap(form => {
    const group = valueOf(above, form);
    const entries = group?.kind === 'map' ? group.entries : [];
    return entries.map(entry => ({ form: formBelow(entry.key) ?? form, entry }));
  });
  const groups = forms.flatMap((form): readonly WrittenEntry[] => {
    const group = above.entries.findLast(({ key }) => key === form);
    if (group && group.value.kind !== 'map') return [group];
    const entries = servers.filter(server => server.form === form).map(({ entry }) => entry);
    const spot = group?.spot ?? above.spot;
    const value: WrittenMap = { kind: 'map', spot: group?.value.spot ?? spot, entries };
    return group || entries.length > 0 ? [{ key: form, spot, value }] : [];
  });
  const others = above.entries.filter(({ key }) => !forms.some(form => form === key));
  return { ...above, entries: [...others, ...groups] };
}
