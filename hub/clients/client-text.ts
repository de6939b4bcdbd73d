import { isDeepStrictEqual } from 'node:util';
import { type JsonText, loadJsonText } from '#config';
import { HubError, type Json, type JsonObject, isObject } from '#core';

/** How a client writes its file. */
export type ClientFormat = 'json' | 'toml';

/** A text that was read, and which file it is of. */
export type ClientSource = {
  readonly file: string;
  /** Undefined where there is no such file. */
  readonly text: string | undefined;
  readonly format: ClientFormat;
};

const mark = '\uFEFF';

/** Few commands read the files of clients, and fewer those that are TOML. */
const readers = {
  json: async () => (await loadJsonText()).readJsonText,
  toml: async () => (await import('./toml-text.ts')).readTomlText,
};

/** What a file says; an empty one says nothing. Throws HUB_CONFIG_INVALID with file, line and column. */
export async function valueOf(source: ClientSource): Promise<unknown> {
  return isBlank(source) ? {} : (await readText(source)).value;
}

/** The value at a path, undefined where nothing is. Throws HUB_CONFIG_INVALID for what is no object on the way. */
export function valueAt(source: ClientSource, value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inside, key, depth) => {
    if (inside === undefined) return undefined;
    if (isObject(inside)) return Object.hasOwn(inside, key) ? inside[key] : undefined;
    const name = path.slice(0, depth).join('.');
    throw new HubError(
      'HUB_CONFIG_INVALID',
      `${source.file}: ${name === '' ? 'the whole' : JSON.stringify(name)} is not an object. Make it {}, or remove it`,
    );
  }, value);
}

/**
 * The text with another value at the path, or without one where that is undefined. All else stays, byte for
 * byte: what would read differently in any other place is refused with HUB_CONFIG_CONFLICT.
 */
export async function withValue(
  source: ClientSource,
  path: readonly string[],
  value: JsonObject | undefined,
): Promise<string> {
  const before = await valueOf(source);
  // Throws for what is no object.
  valueAt(source, before, path);
  if (isBlank(source))
    return value === undefined ? (source.text ?? '') : await written(source, path, value);
  const bom = source.text?.startsWith(mark) ? mark : '';
  const edited = (await readText(source)).with(path, value);
  if (edited === undefined) throw unusual(source, path);
  const after = await readText({ ...source, text: edited }).catch(() => undefined);
  if (!after || !differOnlyAt(path, before, after.value, value)) throw unusual(source, path);
  return bom + edited;
}

/** True where there is no file, or nothing in it. */
export const isBlank = ({ text }: ClientSource) => text === undefined || text.trim() === '';

/** A text that holds one value only. */
async function written(
  { file, format }: ClientSource,
  path: readonly string[],
  value: JsonObject,
): Promise<string> {
  const text = format === 'json' ? '{}\n' : '';
  const read = await readText({ file, format, text });
  return read.with(path, value) ?? text;
}

async function readText({ file, text = '', format }: ClientSource): Promise<JsonText> {
  const read = await readers[format]();
  return read({ file, text: text.startsWith(mark) ? text.slice(mark.length) : text });
}

/** True where two documents say the same, but for the value at the path, which is the given one in the second. */
function differOnlyAt(
  path: readonly string[],
  before: unknown,
  after: unknown,
  value: Json | undefined,
): boolean {
  // A clone has the same prototypes, whoever has parsed it.
  const wanted = changed(structuredClone(before), path, value);
  return (
    isDeepStrictEqual(wanted, changed(structuredClone(after), path, value)) &&
    isDeepStrictEqual(value, found(structuredClone(after), path))
  );
}

/**
 * The document with another value at the path. The objects on the way that hold nothing else count for
 * nothing, since TOML has them only as long as something is in them.
 */
function changed(document: unknown, [key, ...rest]: readonly string[], value?: Json): unknown {
  if (key === undefined) return value;
  const { [key]: old, ...others } = isObject(document) ? document : {};
  const inside = changed(old, rest, value);
  const isEmpty = inside === undefined || (isObject(inside) && Object.keys(inside).length === 0);
  return isEmpty ? others : { ...others, [key]: inside };
}

const found = (document: unknown, path: readonly string[]) =>
  path.reduce<unknown>((inside, key) => (isObject(inside) ? inside[key] : undefined), document);

const unusual = ({ file }: ClientSource, path: readonly string[]) =>
  new HubError(
    'HUB_CONFIG_CONFLICT',
    `${file}: ${path.join('.')} is written in a way (twice, or in one line with others) that cannot be changed without the rest. Edit it by hand`,
  );
