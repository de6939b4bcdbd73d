import { type JsonObject, isObject } from '#core';
import type { LocatedProblem } from './problem.ts';
import {
  type SourceEntry,
  type SourceMap,
  type SourceNode,
  isNull,
  valueOf,
} from './source-map.ts';

/** Groups of keys with the same meaning. A key in the upper file overrides all keys of its group in the lower file. */
const equivalentKeys = [
  ['disabled', 'enabled'],
  ['transport', 'type'],
  ['restart', 'restart_on_failure'],
];

/** Keys of a config file that contain servers: in the hub's own format, and in that of MCP clients. */
export const forms = ['servers', 'mcpServers'] as const;

/**
 * Merges a config file (`above`) over one that it extends (`below`), as the schema describes `extends`. A `null` that
 * removes nothing stays for the next files, and validation rejects it at the end. Keys of the lower file keep their
 * order, which decides which server gets a name that two want; new keys follow. A server stays under the key
 * (`servers` or `mcpServers`) that first defined it, with the defaults of that key. Pure.
 */
export function mergeFiles(below: SourceNode, above: SourceNode): SourceNode {
  if (below.kind !== 'map' || above.kind !== 'map') return above;
  return mergeMaps(below, moveToGroupsOf(below, above), 0);
}

/** Adds `null` for every key that the entry would inherit, so that merging restores exactly `entry`. Pure. */
export function withoutInheritance(entry: JsonObject, below: SourceNode): JsonObject {
  return below.kind === 'map'
    ? withNulls(entry, withoutEquivalentKeys(below.entries, Object.keys(entry)))
    : entry;
}

function withNulls(above: JsonObject, below: readonly SourceEntry[]): JsonObject {
  const merged = new Map(Object.entries(above));
  for (const { key, value } of below) {
    const own = merged.get(key);
    if (own === undefined) merged.set(key, null);
    else if (isObject(own) && value.kind === 'map') merged.set(key, withNulls(own, value.entries));
  }
  return Object.fromEntries(merged);
}

/** Finds servers that a file defines in both `servers` and `mcpServers`. */
export function findDuplicateServers(file: SourceNode): readonly LocatedProblem[] {
  const [first, second] = forms.map(form => valueOf(file, form));
  if (second?.kind !== 'map') return [];
  return second.entries
    .filter(({ key }) => valueOf(first, key) !== undefined)
    .map(entry => ({
      location: entry,
      text: `${JSON.stringify(entry.key)} is also a server in "servers": rename or remove one`,
    }));
}

/** Merges two objects. `depth` is 0 for the file, 1 for `servers` or `mcpServers` and 2 for an entry. */
function mergeMaps(below: SourceMap, above: SourceMap, depth: number): SourceMap {
  const ownKeys = above.entries.filter(({ value }) => !isNull(value)).map(({ key }) => key);
  const kept = depth === 2 ? withoutEquivalentKeys(below.entries, ownKeys) : below.entries;
  const entries = new Map(kept.map(entry => [entry.key, entry]));
  for (const entry of above.entries) {
    const { key, value } = entry;
    const before = entries.get(key)?.value;
    const areMaps = before?.kind === 'map' && value.kind === 'map';
    if (isNull(value) && before && !isNull(before)) entries.delete(key);
    else if (areMaps) entries.set(key, { ...entry, value: mergeMaps(before, value, depth + 1) });
    else entries.set(key, entry);
  }
  return { ...above, entries: [...entries.values()] };
}

function withoutEquivalentKeys(below: readonly SourceEntry[], ownKeys: readonly string[]) {
  const overridden = equivalentKeys
    .filter(keys => keys.some(key => ownKeys.includes(key)))
    .flatMap(keys => keys.filter(key => !ownKeys.includes(key)));
  return below.filter(({ key }) => !overridden.includes(key));
}

/** Moves each server of the upper file to `servers` or `mcpServers`, where the lower file has it. */
function moveToGroupsOf(below: SourceMap, above: SourceMap): SourceMap {
  const formBelow = (name: string) => forms.find(form => valueOf(valueOf(below, form), name));
  const servers = forms.flatMap(form => {
    const group = valueOf(above, form);
    const entries = group?.kind === 'map' ? group.entries : [];
    return entries.map(entry => ({ form: formBelow(entry.key) ?? form, entry }));
  });
  const groups = forms.flatMap((form): readonly SourceEntry[] => {
    const group = above.entries.findLast(({ key }) => key === form);
    if (group && group.value.kind !== 'map') return [group];
    const entries = servers.filter(server => server.form === form).map(({ entry }) => entry);
    const place = group ?? entries[0];
    const around = group?.value.kind === 'map' ? group.value : above;
    return place ? [{ ...place, key: form, value: { ...around, entries } }] : [];
  });
  const others = above.entries.filter(({ key }) => !forms.some(form => form === key));
  return { ...above, entries: [...others, ...groups] };
}
