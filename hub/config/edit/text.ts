import type { Json, JsonObject } from '#core';
import type { Format } from '../document.ts';
import { outlineJson } from '../json.ts';
import { type Outline, type OutlineEntry, type Splice, splice } from '../outline.ts';
import { insertInBlock, insertInEmpty, removeFromBlock, replaceInBlock } from './block.ts';
import { insertInBraces, removeFromBraces, replaceInBraces } from './braces.ts';

/** Text of a config file whose server entries can be edited. Everything else stays unchanged. */
export interface EditableText {
  /** True if the file itself has an entry of this name, even if its value is `null`. */
  has(name: string): boolean;
  /**
   * Returns the text with a new value for a server's entry: an object, `null` to remove a server of a file in
   * `extends`, or `undefined` to delete the entry. A new entry is added at the end of `servers`, or of `mcpServers`
   * if the file has only that. Comments and blank lines are kept, except comments inside the entry and on its lines.
   * Undefined if the text uses syntax that cannot be edited this way.
   */
  with(name: string, entry: JsonObject | null | undefined): string | undefined;
}

const forms = ['servers', 'mcpServers'];

/** Creates an editor for a valid text whose root is an object. */
export async function editableText(whole: string, format: Format): Promise<EditableText> {
  const byteOrderMark = whole.startsWith('\uFEFF') ? '\uFEFF' : '';
  const text = whole.slice(byteOrderMark.length);
  const yaml = format === 'yaml' ? await import('../yaml.ts') : undefined;
  const comments = yaml ? 'yaml' : 'json';
  const root = yaml ? yaml.outlineYaml(text) : outlineJson(text);
  const groups = (root?.entries ?? []).filter(({ key }) => forms.includes(key));
  const groupOf = (name: string) =>
    groups.find(({ value }) => value?.entries.some(({ key }) => key === name));

  function insert(
    object: Outline,
    entry: readonly [string, Json],
    empty?: OutlineEntry,
  ): readonly Splice[] {
    if (object.style === 'block' && yaml) return insertInBlock(text, object, entry, yaml.writeYaml);
    // `{}` in a YAML block file: continue in block style instead of filling the braces.
    if (yaml && empty && root?.style === 'block' && isEmpty(text, object))
      return insertInEmpty(text, root, empty, entry, yaml.writeYaml);
    return insertInBraces(text, object, entry, comments);
  }

  function add(name: string, entry: JsonObject | null): readonly Splice[] | undefined {
    const group = groups.find(({ key }) => key === 'servers') ?? groups[0];
    if (group) return group.value && insert(group.value, [name, entry], group);
    const [form = ''] = forms;
    return root && insert(root, [form, Object.fromEntries([[name, entry]])]);
  }

  function change(name: string, entry: JsonObject | null | undefined) {
    const group = groupOf(name);
    const object = group?.value;
    if (!object) return entry === undefined ? [] : add(name, entry);
    const index = object.entries.findIndex(({ key }) => key === name);
    if (object.style === 'block' && yaml)
      return entry === undefined
        ? removeFromBlock(text, group, object, index)
        : replaceInBlock(text, object, index, entry, yaml.writeYaml);
    return entry === undefined
      ? removeFromBraces(text, object, index, comments)
      : replaceInBraces(text, object, index, entry);
  }

  return {
    has: name => groupOf(name) !== undefined,
    with(name, entry) {
      const splices = change(name, entry);
      return splices && byteOrderMark + splice(text, splices);
    },
  };
}

const isEmpty = (text: string, { start, end }: Outline) =>
  text.slice(start + 1, end - 1).trim() === '';
