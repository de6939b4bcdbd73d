import { type HubError, isObject, parseExactly, tryParseExactly, tryParseJson } from '#core';
import type { Tool } from './mcp.ts';
import { textsIn } from './responses.ts';
import { guess, usageError } from './values.ts';

type Schema = { readonly [key: string]: unknown };

/**
 * True if the words are `key=value` pairs, or if there are none. The tool's schema decides the types of their values.
 */
export const arePairs = (words: readonly string[]): boolean => !/^\s*\{|^-$/.test(words[0] ?? '');

/** Parses the arguments of a call as JSON. Throws HUB_USAGE unless the text is one object. */
export function parseObject(text: string, from: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw usageError(
      `${from}: it is not JSON (${error instanceof Error ? error.message : ''}). Write an object such as '{"text": "hello"}', or key=value pairs`,
      error,
    );
  }
  const exact = isObject(value) && parseExactly(text);
  if (isObject(exact)) return exact;
  throw usageError(
    `${from}: write the arguments of a tool as an object such as '{"text": "hello"}'`,
  );
}

/**
 * Converts pairs to arguments with the types of the tool's schema: `n=3` is a number if the schema says so. A
 * repeated key makes a list. Throws HUB_USAGE and names the tool's parameters.
 */
export function argumentsOf({ name, inputSchema }: Tool, words: readonly string[]): object {
  const schema = isObject(inputSchema) ? inputSchema : {};
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const takesOthers =
    isObject(schema['additionalProperties']) || schema['additionalProperties'] === true;
  const texts = new Map<string, string[]>();
  for (const word of words) {
    const at = word.indexOf('=');
    if (at < 1)
      throw usageError(
        `${JSON.stringify(word)} is not an argument: write key=value, such as ${exampleOf(properties)}, or a JSON object`,
      );
    const key = word.slice(0, at);
    if (!Object.hasOwn(properties, key) && !takesOthers) throw unknownKey(name, key, properties);
    texts.set(key, [...(texts.get(key) ?? []), word.slice(at + 1)]);
  }
  const required = textsIn(schema['required']);
  const missing = required.filter(key => !texts.has(key));
  if (missing.length > 0)
    throw usageError(
      `${name} needs ${missing.map(key => describe(key, properties[key])).join(', ')}. Write ${missing.map(key => `${key}=...`).join(' ')}, or a JSON object`,
    );
  return Object.fromEntries(
    [...texts].map(([key, values]) => [key, valueOf(key, values, properties[key])]),
  );
}

function unknownKey(tool: string, key: string, properties: Schema): HubError {
  const keys = Object.keys(properties);
  const taken = keys.map(one => describe(one, properties[one])).join(', ') || 'no arguments';
  return usageError(
    `${tool} takes no ${JSON.stringify(key)}.${guess(key, keys)} It takes: ${taken}`,
  );
}

/** Returns the types that a schema and its alternatives allow; empty if it names none. */
function typesOf(schema: unknown): readonly string[] {
  if (!isObject(schema)) return [];
  const { type, anyOf, oneOf, enum: choices } = schema;
  if (typeof type === 'string') return [type];
  if (Array.isArray(type)) return type.map(String);
  if (Array.isArray(choices)) return [...new Set(choices.map(choice => typeof choice))];
  return [anyOf, oneOf].flatMap(all => (Array.isArray(all) ? all.flatMap(typesOf) : []));
}

function describe(key: string, schema: unknown): string {
  const types = typesOf(schema);
  return types.length === 0 ? key : `${key} (${types.join(' or ')})`;
}

const exampleOf = (properties: Schema) => `${Object.keys(properties)[0] ?? 'text'}=hello`;

function valueOf(key: string, texts: readonly string[], schema: unknown): unknown {
  const types = typesOf(schema);
  const [first = '', ...more] = texts;
  const takesList = types.includes('array');
  const items = isObject(schema) ? schema['items'] : undefined;
  if (takesList && (more.length > 0 || !first.trimStart().startsWith('[')))
    return texts.map(text => scalarOf(key, text, typesOf(items)));
  if (more.length > 0)
    throw usageError(`${key} is not a list, but is given ${texts.length} times: write it once`);
  return scalarOf(key, first, types);
}

function scalarOf(key: string, text: string, types: readonly string[]): unknown {
  const value = tryParseJson(text);
  const isWanted = types.some(type => isOf(type, value));
  if (value !== undefined && (isWanted || (types.length === 0 && typeof value !== 'string')))
    return tryParseExactly(text);
  if (types.length === 0 || types.includes('string')) return text;
  throw usageError(
    `${key}: ${JSON.stringify(text)} is not allowed: write ${types.map(type => forms[type] ?? type).join(' or ')}`,
  );
}

const forms: Readonly<Record<string, string>> = {
  array: 'a list, as JSON',
  object: 'an object, as JSON',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
};

/** Checks of values against types other than those of `typeof`. Strings are taken literally, including quotes. */
const checks = new Map<string, (value: unknown) => boolean>([
  ['array', value => Array.isArray(value)],
  ['object', isObject],
  ['integer', value => Number.isInteger(value)],
  ['null', value => value === null],
  ['string', () => false],
]);

const isOf = (type: string, value: unknown) => checks.get(type)?.(value) ?? typeof value === type;
