import { HubError, type Json, type JsonObject, isObject } from '#core';
import { diffConfigs } from '../diff.ts';
import { inheritedServer } from '../extends.ts';
import { type Format, requireFormat } from '../files.ts';
import { loadConfig } from '../load.ts';
import { type SourceNode, mapIn } from '../source-map.ts';
import type { Splice } from '../splice.ts';
import {
  type EditNeeds,
  type Edited,
  type EntryEdit,
  affectsOnly,
  serverUnknown,
  uneditable,
  withText,
} from './edited.ts';
import { changeInBraces, inOneLine, openText } from './text.ts';

/** Computes the text with new values for existing keys of a server's entry, and the config that results from it. */
export async function prepareValues(
  { file, text, name, values }: EntryEdit & { readonly values: JsonObject },
  needs: EditNeeds,
): Promise<Edited> {
  const format = requireFormat(file);
  const options = await needs.readOptions();
  const current = { ...options, readText: withText(file, text) };
  const before = await loadConfig(file, current);
  const own = await entryIn(text, format, name);
  if (!own) {
    const below = (await inheritedServer(file, name, current))?.source.file;
    throw below === undefined ? serverUnknown(file, name) : elsewhere(file, name, below);
  }
  const edited = own.with(values);
  if (edited === undefined) throw uneditable(file);
  const config = await loadConfig(file, { ...options, readText: withText(file, edited) });
  if (!affectsOnly(diffConfigs(before, config), name)) throw uneditable(file);
  return { text: edited, config };
}

/** Returns the entry of a server in the text of a file, with its variables unexpanded; undefined if there is none. */
export async function findEntry(
  file: string,
  text: string,
  name: string,
): Promise<JsonObject | undefined> {
  const own = await entryIn(text, requireFormat(file), name);
  const value = own && jsonOf(own.object);
  return isObject(value) ? value : undefined;
}

async function entryIn(text: string, format: Format, name: string) {
  const opened = await openText(text, format);
  const object = opened.groups
    .flatMap(group => mapIn(group)?.entries ?? [])
    .filter(({ key }) => key === name)
    .map(mapIn)
    .find(found => found !== undefined);
  if (!object) return undefined;
  return {
    object,
    /** Returns the text with new values. Undefined if the entry lacks a key or its syntax cannot be edited this way. */
    with(values: JsonObject): string | undefined {
      const splices = Object.entries(values).map(([key, value]) => {
        const index = object.entries.findLastIndex(entry => entry.key === key);
        const old = object.entries[index];
        if (!old || old.isAlias) return undefined;
        const items = splicesOfItems(old.value, value);
        if (items) return items;
        // A JSON value on one line is valid YAML too.
        return object.style === 'block'
          ? [{ start: old.valueStart, end: old.end, text: inOneLine(value) }]
          : changeInBraces(object, index, value, format);
      });
      return splices.includes(undefined)
        ? undefined
        : opened.with(splices.flatMap(one => one ?? []));
    },
  };
}

/** Replaces only the changed items of a list, so that comments between them stay. Undefined for other values. */
function splicesOfItems(old: SourceNode, value: Json): readonly Splice[] | undefined {
  const { items } = old.kind === 'list' ? old : { items: [] };
  if (!Array.isArray(value) || value.length === 0 || items.length !== value.length)
    return undefined;
  const splices = items.map((item, at): readonly Splice[] | undefined => {
    const wanted = value[at];
    if (item.kind !== 'scalar' || wanted === undefined) return undefined;
    return item.value === wanted
      ? []
      : [{ start: item.offset, end: item.end, text: inOneLine(wanted) }];
  });
  return splices.includes(undefined) ? undefined : splices.flatMap(one => one ?? []);
}

function jsonOf(node: SourceNode): Json {
  if (node.kind === 'list') return node.items.map(jsonOf);
  if (node.kind === 'map')
    return Object.fromEntries(node.entries.map(({ key, value }) => [key, jsonOf(value)]));
  const { value } = node;
  return typeof value === 'boolean' || typeof value === 'number' || typeof value === 'string'
    ? value
    : null;
}

const elsewhere = (file: string, name: string, below: string) =>
  new HubError(
    'HUB_CONFIG_CONFLICT',
    `${file}: the entry of ${name} is in ${below}. Change it there`,
  );
