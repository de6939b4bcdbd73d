import type { Json } from '#core';
import { documentOf } from './document.ts';
import { insertInBraces, removeFromBraces, replaceInBraces } from './edit/text.ts';
import { readJson } from './json.ts';
import { invalidFile } from './problem.ts';
import { type SourceMap, type SourceText, mapIn } from './source-map.ts';
import { type Splice, splice } from './splice.ts';

/** A JSON file that belongs to another program. May contain comments and trailing commas. */
export type JsonText = {
  /** The parsed value. For duplicate keys, the last one counts. */
  readonly value: unknown;
  /**
   * The text with a new value at the path, or without the key if `value` is undefined. Creates missing objects on the
   * path. Undefined if the path leads through a value that is not an object.
   */
  with(path: readonly string[], value: Json | undefined): string | undefined;
};

/** Parses a text without a byte order mark. Throws HUB_CONFIG_INVALID if it is not JSON. */
export function readJsonText(source: SourceText): JsonText {
  const { root, fault } = readJson(source);
  const refuse = (offset: number, text: string) =>
    invalidFile([{ location: { source, offset, path: [] }, text }]);
  if (fault) throw refuse(fault.offset, `not valid JSON: ${fault.text}`);
  if (!root) throw refuse(0, 'it contains no value: write {}');
  return {
    value: documentOf(root).value,
    with(path, value) {
      const splices = root.kind === 'map' ? change(source.text, root, path, value) : undefined;
      return splices && splice(source.text, splices);
    },
  };
}

function change(
  text: string,
  object: SourceMap,
  [key = '', ...rest]: readonly string[],
  value: Json | undefined,
): readonly Splice[] | undefined {
  const index = object.entries.findLastIndex(entry => entry.key === key);
  const entry = object.entries[index];
  if (!entry)
    return value === undefined
      ? []
      : insertInBraces(text, object, [key, nested(rest, value)], 'json');
  const inside = mapIn(entry);
  if (rest.length > 0) return inside && change(text, inside, rest, value);
  return value === undefined
    ? removeFromBraces(text, object, index, 'json')
    : replaceInBraces(text, entry, value);
}

const nested = (path: readonly string[], value: Json): Json =>
  path.reduceRight<Json>((inner, key) => ({ [key]: inner }), value);
