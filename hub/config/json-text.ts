import type { Json } from '#core';
import { documentOf } from './document.ts';
import { changeInBraces, insertInBraces } from './edit/text.ts';
import { readJson } from './json.ts';
import { invalidFile } from './problem.ts';
import { type SourceMap, type SourceText, mapIn } from './source-map.ts';
import { type Splice, splice } from './splice.ts';

export type JsonText = ReturnType<typeof readJsonText>;

/**
 * Parses a JSON file of another program, which may contain comments and trailing commas. The text has no byte order
 * mark. Throws HUB_CONFIG_INVALID if it is not JSON.
 */
export function readJsonText(source: SourceText) {
  const { root, fault } = readJson(source);
  const refuse = (offset: number, text: string) =>
    invalidFile([{ location: { source, offset, path: [] }, text }]);
  if (fault) throw refuse(fault.offset, `not valid JSON: ${fault.text}`);
  if (!root) throw refuse(0, 'it contains no value: write {}');
  return {
    /** The parsed value. For duplicate keys, the last one counts. */
    value: documentOf(root).value,
    /**
     * Returns the text with a new value at the path, or without the key if `value` is undefined. Creates missing
     * objects on the path. Undefined if the path leads through a value that is not an object.
     */
    with(path: readonly string[], value: Json | undefined): string | undefined {
      const splices = root.kind === 'map' ? change(root, path, value) : undefined;
      return splices && splice(source.text, splices);
    },
  };
}

function change(
  object: SourceMap,
  [key = '', ...rest]: readonly string[],
  value: Json | undefined,
): readonly Splice[] | undefined {
  const index = object.entries.findLastIndex(entry => entry.key === key);
  const entry = object.entries[index];
  if (!entry)
    return value === undefined ? [] : insertInBraces(object, [key, nested(rest, value)], 'json');
  const inside = mapIn(entry);
  if (rest.length > 0) return inside && change(inside, rest, value);
  return changeInBraces(object, index, value, 'json');
}

const nested = (path: readonly string[], value: Json): Json =>
  path.reduceRight<Json>((inner, key) => ({ [key]: inner }), value);
