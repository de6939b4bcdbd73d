import { isDeepStrictEqual } from 'node:util';
import { type JsonText, loadJsonText } from '#config';
import { HubError, type Json, type JsonObject, isObject } from '#core';

export type ClientFormat = 'json' | 'toml';

/** A client's file and its text. */
export type ClientSource = {
  readonly file: string;
  /** Text of the file; undefined if the file does not exist. */
  readonly text: string | undefined;
  readonly format: ClientFormat;
};

const byteOrderMark = '\uFEFF';

/** Parsers, loaded on demand: few commands read clients' files, and fewer read TOML. */
const readers = {
  json: async () => (await loadJsonText()).readJsonText,
  toml: async () => (await import('../toml-text.ts')).readTomlText,
};

/** Parses a client's file. An empty file counts as `{}`. Rejects with HUB_CONFIG_INVALID with file, line and column. */
export async function valueOf(source: ClientSource): Promise<unknown> {
  return isBlank(source) ? {} : (await readText(source)).value;
}

/**
 * Returns the value at a path; undefined if there is none. Throws HUB_CONFIG_INVALID if a value on the path is not an
 * object.
 */
export function valueAt(source: ClientSource, value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inside, key, depth) => {
    if (inside === undefined) return undefined;
    if (isObject(inside)) return Object.hasOwn(inside, key) ? inside[key] : undefined;
    const name = path.slice(0, depth).join('.');
    const what = name === '' ? 'the document' : JSON.stringify(name);
    const problem =
      source.format === 'toml'
        ? `is not a table. Write each of its entries as a table of its own, [${name}.NAME], or remove ${what}`
        : 'is not an object. Make it {}, or remove it';
    throw new HubError('HUB_CONFIG_INVALID', `${source.file}: ${what} ${problem}`);
  }, value);
}

/**
 * Sets or removes (undefined) the value at a path. Keeps the rest of the text byte for byte. Rejects with
 * HUB_CONFIG_CONFLICT if the edit would change any other value.
 */
export async function withValue(
  source: ClientSource,
  path: readonly string[],
  value: JsonObject | undefined,
): Promise<string> {
  const before = await valueOf(source);
  // Throws if a value on the path is not an object.
  valueAt(source, before, path);
  if (isBlank(source)) {
    if (value === undefined) return source.text ?? '';
    const text = source.format === 'json' ? '{}\n' : '';
    return (await readText({ ...source, text })).with(path, value) ?? text;
  }
  const bom = source.text?.startsWith(byteOrderMark) ? byteOrderMark : '';
  const edited = (await readText(source)).with(path, value);
  if (edited === undefined) throw notEditable(source, path);
  const after = await readText({ ...source, text: edited }).catch(() => undefined); // Invalid text is refused below.
  if (!after || !differOnlyAt(path, before, after.value, value)) throw notEditable(source, path);
  return bom + edited;
}

/** True if the file does not exist or is empty. */
export const isBlank = ({ text }: ClientSource) => text === undefined || text.trim() === '';

async function readText({ file, text = '', format }: ClientSource): Promise<JsonText> {
  const read = await readers[format]();
  return read({
    file,
    text: text.startsWith(byteOrderMark) ? text.slice(byteOrderMark.length) : text,
  });
}

/** True if two documents differ at most at the path, where the second document has the given value. */
function differOnlyAt(
  path: readonly string[],
  before: unknown,
  after: unknown,
  value: Json | undefined,
): boolean {
  // Clone both, because objects of different parsers have different prototypes.
  const [old, edited] = structuredClone([before, after]);
  const inside = path.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), edited);
  return (
    isDeepStrictEqual(replaceAt(old, path, value), replaceAt(edited, path, value)) &&
    isDeepStrictEqual(value, inside)
  );
}

/**
 * Returns the document with another value at the path. Drops objects that become empty, because TOML has no table
 * without content.
 */
function replaceAt(document: unknown, [key, ...rest]: readonly string[], value?: Json): unknown {
  if (key === undefined) return value;
  const { [key]: old, ...others } = isObject(document) ? document : {};
  const inside = replaceAt(old, rest, value);
  const isEmpty = inside === undefined || (isObject(inside) && Object.keys(inside).length === 0);
  return isEmpty ? others : { ...others, [key]: inside };
}

function notEditable({ file, format }: ClientSource, path: readonly string[]): HubError {
  const remedy =
    format === 'toml'
      ? `Write each server there as a table of its own, [${path.slice(0, -1).join('.')}.NAME], and repeat this`
      : 'Edit it by hand';
  return new HubError(
    'HUB_CONFIG_CONFLICT',
    `${file}: ${path.join('.')} is written in a way (twice, or in one line with others) that cannot be changed without the rest. ${remedy}`,
  );
}
