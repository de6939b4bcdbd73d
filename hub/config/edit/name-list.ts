import type { Json } from '#core';
import type { Format } from '../files.ts';
import { type SourceEntry, type SourceMap, listIn, mapIn } from '../source-map.ts';
import type { Splice } from '../splice.ts';
import {
  type OpenText,
  changeInBraces,
  insertInBrackets,
  openText,
  removeFromBrackets,
} from './text.ts';

/** The names that a list such as `tools.deny` of a server is to have. */
type NameList = {
  readonly server: string;
  readonly key: 'allow' | 'deny';
  readonly names: readonly string[];
  /** True if a file in `extends` has the list too. An empty list is then written out, to override it. */
  readonly isInherited: boolean;
};

/** Position of an entry: the object around it, the entry that has this object, and its index there. */
type Place = {
  readonly around: SourceMap;
  readonly parent: SourceEntry | undefined;
  readonly index: number;
  readonly entry: SourceEntry;
};

/**
 * Returns the text with the given names in a list of a server's `tools`. Changes the list item by item, so that
 * comments stay. Removes an empty `deny`, and `tools` if that becomes empty. Undefined if the text uses syntax that
 * cannot be edited this way.
 */
export async function withNameList(
  whole: string,
  format: Format,
  list: NameList,
): Promise<string | undefined> {
  let text = whole;
  // Each step makes one change, because splices for two changes of one list could overlap.
  for (let count = 0; count < maxSteps; count++) {
    const opened = await openText(text, format);
    const step = nextStep(opened, list, format);
    if (step === 'done') return text;
    if (!step) return undefined;
    text = opened.with(step);
  }
  return undefined;
}

/** Maximum number of changes of one list, more than a person makes at once. Each change parses the file. */
const maxSteps = 500;

function nextStep(
  opened: OpenText,
  { server, key, names, isInherited }: NameList,
  format: Format,
): readonly Splice[] | 'done' | undefined {
  const { root } = opened;
  if (!root) return undefined;
  // An empty `allow` means that the server offers no tools; without `allow` it offers all.
  const isKept = names.length > 0 || isInherited || key === 'allow';
  const group =
    opened.groups.find(({ value }) => value.kind === 'map' && placeIn(value, server)) ??
    opened.groups.find(({ key: form }) => form === 'servers') ??
    opened.groups[0];
  const path = [group?.key ?? 'servers', server, 'tools', key];
  let around = root;
  let at: Place | undefined;
  for (const [depth, step] of path.entries()) {
    const place = placeIn(around, step, at?.entry);
    if (!place) {
      const isEmptied = step === key && around.entries.length === 0;
      if (!isKept) return isEmptied && at ? changeMember(opened, at, undefined, format) : 'done';
      return opened.insert(around, [step, nested(path.slice(depth + 1), names)], at);
    }
    if (step === key) return changeList(opened, place, isKept ? names : undefined, format);
    const inside = mapIn(place.entry);
    if (!inside) return undefined;
    around = inside;
    at = place;
  }
  return undefined;
}

function placeIn(around: SourceMap, key: string, parent?: SourceEntry): Place | undefined {
  const index = around.entries.findIndex(entry => entry.key === key);
  const entry = around.entries[index];
  return entry && { around, parent, index, entry };
}

const nested = (path: readonly string[], names: readonly string[]): Json =>
  path.reduceRight<Json>((inside, key) => ({ [key]: inside }), [...names]);

/** Makes one change towards the given names: adds one, removes one, or removes the entry if `names` is undefined. */
function changeList(
  opened: OpenText,
  place: Place,
  names: readonly string[] | undefined,
  format: Format,
): readonly Splice[] | 'done' | undefined {
  const list = listIn(place.entry);
  if (!list) return undefined;
  if (names === undefined) return changeMember(opened, place, undefined, format);
  const written = list.items.map(item => (item.kind === 'scalar' ? item.value : undefined));
  const missing = names.find(name => !written.includes(name));
  const surplus = written.findIndex(value => !names.some(name => name === value));
  if (missing === undefined && surplus < 0) return 'done';
  const isBracketed = list.source.text[list.offset] === '[';
  const { yaml } = opened;
  const whole = () => changeMember(opened, place, [...names], format);
  if (missing !== undefined && written.length > 0)
    return isBracketed
      ? insertInBrackets(list, missing, format)
      : (yaml?.insertItem(list, missing) ?? whole());
  if (written.length > 1 && names.length > 0)
    return isBracketed
      ? removeFromBrackets(list, surplus, format)
      : (yaml?.removeItem(list, surplus) ?? whole());
  return whole();
}

/** Replaces the value of an entry, or removes the entry if `value` is undefined. */
function changeMember(
  { yaml }: OpenText,
  { around, parent, index }: Place,
  value: Json | undefined,
  format: Format,
): readonly Splice[] | undefined {
  if (around.style !== 'block' || !yaml) return changeInBraces(around, index, value, format);
  return parent && yaml.changeInBlock(parent, around, index, value);
}
