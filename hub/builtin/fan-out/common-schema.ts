import { isDeepStrictEqual } from 'node:util';
import { type JsonObject, isJsonObject, isObject } from '#core';

/** A tool and the schema of its arguments, as its server sent it. */
type ToolSchema = { readonly name: string; readonly inputSchema: unknown };

type CommonSchema = {
  readonly inputSchema: JsonObject;
  /** Tools that cannot be called, and their required arguments that are not common to all tools. */
  readonly unusable: ReadonlyMap<string, readonly string[]>;
};

/**
 * Returns the schema of the arguments that all tools have in common: properties with equal names that accept equal
 * values. A property is required if one tool requires it. Order matters: a tool that requires an argument which the
 * tools before it lack is left out.
 */
export function commonSchema(tools: readonly ToolSchema[]): CommonSchema {
  const unusable = new Map<string, readonly string[]>();
  const used: Parts[] = [];
  for (const { name, inputSchema } of tools) {
    const parts = partsOf(inputSchema);
    const common = commonOf([...used, parts]);
    const missing = [...used, parts].flatMap(({ required }) =>
      required.filter(key => !common.has(key)),
    );
    if (missing.length === 0) used.push(parts);
    else unusable.set(name, [...new Set(missing)]);
  }
  const common = commonOf(used);
  const needed = new Set(used.flatMap(one => one.required));
  const required = [...common.keys()].filter(key => needed.has(key));
  const definitions = used[0]?.definitions;
  return {
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries(common),
      ...(required.length > 0 && { required }),
      ...(refersTo(common) && definitions),
    },
    unusable,
  };
}

type Parts = {
  readonly properties: ReadonlyMap<string, unknown>;
  readonly required: readonly string[];
  /** The members `$defs` and `definitions`, which references point to. */
  readonly definitions: JsonObject;
};

/** `definitions` is the name of `$defs` before draft 2019-09 of JSON Schema. */
const definitionKeys = ['$defs', 'definitions'] as const;

function partsOf(schema: unknown): Parts {
  const members = isObject(schema) ? schema : {};
  const { properties, required } = members;
  return {
    properties: new Map(isObject(properties) ? Object.entries(properties) : []),
    required: Array.isArray(required) ? required.filter(key => typeof key === 'string') : [],
    definitions: Object.fromEntries(
      definitionKeys.flatMap(key => {
        const found = members[key];
        return isJsonObject(found) ? [[key, found]] : [];
      }),
    ),
  };
}

/** Returns the properties of the first tool that all others have too, without unresolvable references. */
function commonOf([first, ...others]: readonly Parts[]): ReadonlyMap<string, JsonObject> {
  const found = new Map<string, JsonObject>();
  const isDefinedAlike = others.every(({ definitions }) =>
    isDeepStrictEqual(definitions, first?.definitions),
  );
  for (const [key, schema] of first?.properties ?? []) {
    const isCommon =
      others.every(({ properties }) =>
        isDeepStrictEqual(withoutWords(properties.get(key)), withoutWords(schema)),
      ) &&
      (isDefinedAlike || !hasReference(schema));
    if (isCommon && isJsonObject(schema)) found.set(key, schema);
  }
  removeDangling(found);
  return found;
}

/** Removes properties with unresolvable references, then those that refer to a removed one. Runs in linear time. */
function removeDangling(properties: Map<string, JsonObject>): void {
  const referring = new Map<string, string[]>();
  const dangling: string[] = [];
  for (const [key, schema] of properties)
    for (const reference of referencesIn(schema)) {
      const property = /^#\/properties\/([^/]+)/.exec(reference)?.[1];
      if (property !== undefined && properties.has(property)) {
        const keys = referring.get(property) ?? [];
        referring.set(property, keys);
        keys.push(key);
      } else if (property !== undefined || !leadsSomewhere(reference)) dangling.push(key);
    }
  for (let key = dangling.pop(); key !== undefined; key = dangling.pop())
    if (properties.delete(key)) for (const other of referring.get(key) ?? []) dangling.push(other);
}

/** True for a reference to a definition, or to another document. */
const leadsSomewhere = (reference: string): boolean =>
  !reference.startsWith('#') || /^#\/(?:\$defs|definitions)\//.test(reference);

const words = new Set(['title', 'description', 'examples', '$comment']);

/** Returns the schema of a property without its texts, which do not affect the accepted values. */
const withoutWords = (schema: unknown): unknown =>
  isObject(schema)
    ? Object.fromEntries(Object.entries(schema).filter(([key]) => !words.has(key)))
    : schema;

const hasReference = (schema: unknown): boolean => JSON.stringify(schema)?.includes('"$ref"');

const referencesIn = (schema: unknown): readonly string[] =>
  Array.isArray(schema)
    ? schema.flatMap(referencesIn)
    : isObject(schema)
      ? Object.entries(schema).flatMap(([key, value]) =>
          key === '$ref' && typeof value === 'string' ? [value] : referencesIn(value),
        )
      : [];

const refersTo = (common: ReadonlyMap<string, JsonObject>) =>
  [...common.values()].some(hasReference);
