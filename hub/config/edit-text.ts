import type { Json, JsonObject } from '#core';
import { insertInBlock, insertInEmpty, removeFromBlock, replaceInBlock } from './edit-block.ts';
import { insertInBraces, removeFromBraces, replaceInBraces } from './edit-braces.ts';
import type { Format } from './document.ts';
import { outlineJson } from './json.ts';
import { type Outline, type OutlineEntry, type Splice, splice } from './outline.ts';

/** A config file's text whose servers can be changed, without any other change to it. */
export interface EditableText {
  /** The form in which the file itself has a server, also where it is `null`. */
  has(name: string): boolean;
  /**
   * The text with another entry of a server, `null` to take away what a file in `extends` says, or
   * `undefined` for none. A new one comes last, in `servers` unless the file has `mcpServers` only. What
   * comments and blank lines there are stays, but for comments inside the entry and on its lines.
   * Undefined where it is written in a way that cannot be edited so.
   */
  with(name: string, entry: JsonObject | null | undefined): string | undefined;
}

const forms = ['servers', 'mcpServers'];

/** Reads a text that is valid and holds an object. */
export async function editableText(whole: string, format: Format): Promise<EditableText> {
  const mark = whole.startsWith('\uFEFF') ? '\uFEFF' : '';
  const text = whole.slice(mark.length);
  const yaml = format === 'yaml' ? await import('./yaml.ts') : undefined;
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
    // Between empty braces in YAML nobody means to go on with braces.
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
      return splices && mark + splice(text, splices);
    },
  };
}

const isEmpty = (text: string, { start, end }: Outline) =>
  text.slice(start + 1, end - 1).trim() === '';
