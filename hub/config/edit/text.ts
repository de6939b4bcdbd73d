import type { Json, JsonObject } from '#core';
import type { Format } from '../document.ts';
import { readJson } from '../json.ts';
import { forms } from '../merge.ts';
import { type SourceEntry, type SourceMap, mapIn } from '../source-map.ts';
import { type Splice, splice } from '../splice.ts';
import { insertInBraces, removeFromBraces, replaceInBraces } from './braces.ts';

/** Loaded on demand: few hubs have a YAML file. */
const loadYaml = async () => ({ ...(await import('../yaml.ts')), ...(await import('./block.ts')) });

/**
 * The text of a config file whose server entries can be edited. It must be valid, with an object as its root.
 * Everything else in it stays unchanged.
 */
export async function editableText(whole: string, format: Format) {
  const byteOrderMark = whole.startsWith('\uFEFF') ? '\uFEFF' : '';
  const text = whole.slice(byteOrderMark.length);
  const source = { file: '', text };
  const yaml = format === 'yaml' ? await loadYaml() : undefined;
  const { root: node } = yaml ? yaml.readYaml(source) : readJson(source);
  const root = node?.kind === 'map' ? node : undefined;
  const groups = (root?.entries ?? []).filter(({ key }) => forms.some(form => form === key));
  const groupOf = (name: string) =>
    groups.find(group => mapIn(group)?.entries.some(({ key }) => key === name));

  function insert(object: SourceMap, entry: readonly [string, Json], group?: SourceEntry) {
    if (object.style === 'block' && yaml) return yaml.insertInBlock(text, object, entry);
    // `{}` in a YAML block file: continue in block style instead of filling the braces.
    const isEmpty = text.slice(object.offset + 1, object.end - 1).trim() === '';
    if (yaml && group && root?.style === 'block' && isEmpty)
      return yaml.insertInEmpty(text, root, group, entry);
    return insertInBraces(text, object, entry, format);
  }

  function add(name: string, entry: JsonObject | null): readonly Splice[] | undefined {
    const group = groups.find(({ key }) => key === 'servers') ?? groups[0];
    const object = group && mapIn(group);
    if (group) return object && insert(object, [name, entry], group);
    return root && insert(root, ['servers', Object.fromEntries([[name, entry]])]);
  }

  function change(name: string, value: JsonObject | null | undefined) {
    const group = groupOf(name);
    const object = group && mapIn(group);
    if (!object) return value === undefined ? [] : add(name, value);
    const index = object.entries.findIndex(({ key }) => key === name);
    const entry = object.entries[index];
    if (!entry) return undefined;
    if (object.style === 'block' && yaml)
      return value === undefined
        ? yaml.removeFromBlock(text, group, object, entry)
        : yaml.replaceInBlock(text, object, entry, value);
    return value === undefined
      ? removeFromBraces(text, object, index, format)
      : replaceInBraces(text, entry, value);
  }

  return {
    /** True if the file itself has an entry of this name, even if its value is `null`. */
    has: (name: string) => groupOf(name) !== undefined,
    /**
     * Returns the text with a new value for a server's entry: an object, `null` to remove a server of a file in
     * `extends`, or `undefined` to delete the entry. A new entry is added at the end of `servers`, or of `mcpServers`
     * if the file has only that. Comments and blank lines are kept, except comments inside the entry and on its lines.
     * Undefined if the text uses syntax that cannot be edited this way.
     */
    with(name: string, entry: JsonObject | null | undefined): string | undefined {
      const splices = change(name, entry);
      return splices && byteOrderMark + splice(text, splices);
    },
  };
}
