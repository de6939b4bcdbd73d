import { isDeepStrictEqual } from 'node:util';
import { HubError, type Json, type JsonObject, isExactNumber, isObject, parseExactly } from '#core';
import type { Field } from './tool-fields.ts';

/** Values of a form by the names of its fields. */
export type GivenValues = ReadonlyMap<string, string>;

/** Name of the form field with all arguments as JSON. */
export const jsonName = 'json';
/** Returns the number of items of a list in a form, from the highest index in the names of its fields. */
export function itemCount(path: string, given: GivenValues): number {
  let items = 0;
  for (const name of given.keys()) {
    if (!name.startsWith(`${path}.`)) continue;
    const index = /^\d{1,3}(?=\.)/.exec(name.slice(path.length + 1))?.[0];
    if (index !== undefined) items = Math.max(items, Number(index) + 1);
  }
  return items;
}

/** Converts a form to arguments. Omits empty optional fields. Throws HUB_REQUEST_INVALID. */
export function argumentsOf(fields: readonly Field[] | undefined, given: GivenValues): JsonObject {
  const all = given.get(jsonName)?.trim() ?? '';
  if (all !== '' || !fields) return objectOf(all);
  return membersIn(fields, 'arg', given, true) ?? {};
}

/** Returns the members that are filled in; undefined if there are none and the object is optional. */
function membersIn(
  fields: readonly Field[],
  path: string,
  given: GivenValues,
  isNeeded: boolean,
): JsonObject | undefined {
  const values = fields.flatMap(field => {
    const value = valueIn(field, `${path}.${field.name}`, given);
    return value === undefined ? [] : [[field.name, value] as const];
  });
  if (values.length === 0 && !isNeeded) return undefined;
  const found = Object.fromEntries(values);
  for (const { name, isRequired } of fields)
    if (isRequired && !Object.hasOwn(found, name))
      throw invalid(`${`${path}.${name}`.slice('arg.'.length)}: is missing: fill in the field`);
  return found;
}

function valueIn(field: Field, path: string, given: GivenValues): Json | undefined {
  if (field.kind === 'object') return membersIn(field.members, path, given, field.isRequired);
  if (field.kind === 'list') {
    const items = Array.from({ length: itemCount(path, given) }, (_, at) =>
      membersIn(field.members, `${path}.${at}`, given, false),
    ).filter(item => item !== undefined);
    return items.length > 0 || field.isRequired ? items : undefined;
  }
  const text = given.get(path) ?? '';
  return text === '' ? undefined : valueOf(field, path.slice('arg.'.length), text);
}

type SingleField = Exclude<Field, { readonly kind: 'object' | 'list' }>;

function valueOf(field: SingleField, name: string, text: string): Json {
  switch (field.kind) {
    case 'text':
    case 'prose':
    case 'choice':
      return text;
    case 'boolean':
      if (text !== 'true' && text !== 'false')
        throw invalid(`${name}: ${shownOf(text)} is not a boolean: write true or false`);
      return text === 'true';
    case 'number':
    case 'integer':
      return numberOf(field.kind, name, text);
    case 'lines':
      return linesOf(field.item, name, text);
    case 'json':
      return jsonOf(name, text);
  }
}

const numberNames = { number: 'a number', integer: 'an integer' };
const numberForms = {
  number: 'a number with digits, such as 3 or 0.5',
  integer: 'a whole number, such as 3',
};

function numberOf(kind: 'number' | 'integer', name: string, text: string): Json {
  // Reject blank text, which `Number` converts to 0.
  const value = text.trim() === '' ? NaN : Number(text);
  if (!Number.isFinite(value) || (kind === 'integer' && !Number.isInteger(value)))
    throw invalid(
      `${name}: ${shownOf(text)} is not ${numberNames[kind]}: write ${numberForms[kind]}`,
    );
  // Keep the digits of integers above 2^53. JSON allows neither "+" nor leading zeros.
  const [, sign = '', digits] = /^\s*([+-]?)0*(\d+)\s*$/.exec(text) ?? [];
  if (Number.isSafeInteger(value) || digits === undefined) return value;
  return parseExactly(sign === '-' ? `-${digits}` : digits);
}

/** Parses a list with one item per line, or in JSON. */
function linesOf(item: 'text' | 'number' | 'integer', name: string, text: string): Json {
  if (text.trimStart().startsWith('[')) return jsonOf(name, text);
  const lines = text.split(/\r?\n/).filter(line => line.trim() !== '');
  return item === 'text' ? lines : lines.map(line => numberOf(item, name, line.trim()));
}

const shownOf = (text: string) => JSON.stringify(text.slice(0, 60));

function objectOf(text: string): JsonObject {
  const value = jsonOf('the arguments', text === '' ? '{}' : text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value))
    return Object.fromEntries(Object.entries(value));
  throw invalid('the arguments: write an object: {"name": "value"}');
}

function jsonOf(name: string, text: string): Json {
  try {
    return parseExactly(text);
  } catch (cause) {
    throw invalid(`${name}: is not JSON: write a value as JSON has it`, cause);
  }
}

const invalid = (message: string, cause?: unknown) =>
  new HubError('HUB_REQUEST_INVALID', message, { cause });

/**
 * Converts arguments to the values of a form: in its fields if each argument has one that returns it unchanged, or else
 * as JSON.
 */
export function valuesFor(fields: readonly Field[] | undefined, args: JsonObject): GivenValues {
  const values = new Map<string, string>();
  const isWhole = fields !== undefined && fill(fields, 'arg', args, values);
  return isWhole ? values : new Map([[jsonName, JSON.stringify(args, undefined, 2)]]);
}

function fill(
  fields: readonly Field[],
  path: string,
  args: Readonly<Record<string, unknown>>,
  into: Map<string, string>,
): boolean {
  return Object.entries(args).every(([name, value]) => {
    const field = fields.find(one => one.name === name);
    const at = `${path}.${name}`;
    if (!field) return false;
    switch (field.kind) {
      case 'object':
        return isFilled(value) && fill(field.members, at, value, into);
      case 'list':
        return (
          Array.isArray(value) &&
          value.length > 0 &&
          value.every(
            (item, index) => isFilled(item) && fill(field.members, `${at}.${index}`, item, into),
          )
        );
      case 'lines': {
        if (!Array.isArray(value)) return false;
        const lines = value.map(item => (typeof item === 'string' ? item : JSON.stringify(item)));
        const texts = [lines.join('\n'), JSON.stringify(value)];
        const text = texts.find(one => isReturned(field, one, value));
        if (text !== undefined) into.set(at, text);
        return text !== undefined;
      }
      default: {
        const isText = typeof value === 'string' && field.kind !== 'json';
        const text = isText ? value : JSON.stringify(value);
        into.set(at, text);
        return isReturned(field, text, value);
      }
    }
  });
}

const isFilled = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isObject(value) && Object.keys(value).length > 0;

/** True if a form returns `value` for a field that shows it as `text`. */
function isReturned(field: SingleField, text: string, value: unknown): boolean {
  // An empty field is an absent argument. Browsers replace carriage returns, and choose only what is listed.
  if (text === '' || text.includes('\r')) return false;
  if (field.kind === 'choice' && !field.choices.includes(text)) return false;
  try {
    return isDeepStrictEqual(valueOf(field, '', text), value);
  } catch {
    return false; // The text is no value of the field's type.
  }
}
