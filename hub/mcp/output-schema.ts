import { isObject } from '#core';
import { membersOf, splice, stringAt, valueOf } from '#jsonrpc';

/**
 * MCP 2026-07-28 allows any type as root of a tool's `outputSchema`, and any value as `structuredContent` (SEP-2106).
 * In earlier revisions both must be objects. For their clients, the hub wraps such a schema and value in an object
 * with the member `result`, like servers of the official SDK.
 */

/** Maximum nesting depth of a schema. Deeper schemas are not wrapped, because the function is recursive. */
const maxDepth = 500;

/** Keywords whose value is data, not a schema: a `$ref` in it is not a reference. */
const dataKeywords: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples']);
/** Keywords that contain schemas by arbitrary names, which may equal keywords. */
const schemasByName: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
]);

/** JSON Pointer to the original schema in the wrapped one. */
const wrappedRoot = '#/properties/result';

type Json = { readonly [name: string]: unknown };

/**
 * Returns the definition of a tool for clients of revisions before 2026-07-28. Undefined if it is the same, or if its
 * schema is nested too deeply.
 */
export function legacyTool(tool: Buffer): Buffer | undefined {
  const span = membersOf(tool, { start: 0, end: tool.length })?.get('outputSchema');
  const type = membersOf(tool, span)?.get('type');
  if (!span || tool[span.start] !== 0x7b || stringAt(tool, type) === 'object') return undefined;
  const schema = valueOf(tool, span);
  const wrapped = isObject(schema) ? wrapSchema(schema) : undefined;
  return wrapped && splice(tool, [{ span, text: JSON.stringify(wrapped) }]);
}

function wrapSchema(schema: Json): Json | undefined {
  const dialect = schema['$schema'];
  const isAnchored = schema['$recursiveAnchor'] === true;
  const is2019 = typeof dialect === 'string' && /draft\/2019-09\/schema/.test(dialect);
  const result = isBase(schema) ? schema : moved(schema, false, is2019 && !isAnchored, maxDepth);
  if (result === undefined) return undefined;
  return {
    ...(typeof dialect === 'string' && { $schema: dialect }),
    type: 'object',
    properties: { result },
    required: ['result'],
  };
}

/** True if references in this schema are relative to its own `$id` and must not be changed. */
const isBase = ({ $id }: Json) =>
  $id !== undefined && !(typeof $id === 'string' && $id.startsWith('#'));

/**
 * Returns the schema with references to the root of the document adjusted to its new path. `isNames`: the member names
 * are names of schemas. Undefined if the schema is nested too deeply.
 */
function moved(value: unknown, isNames: boolean, isRecursive: boolean, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth === 0) return undefined;
  if (Array.isArray(value)) {
    const elements = value.map(one => moved(one, false, isRecursive, depth - 1));
    return elements.includes(undefined) ? undefined : elements;
  }
  if (!isObject(value) || (!isNames && isBase(value))) return value;
  let refersToRoot = false;
  const members: [string, unknown][] = [];
  for (const [name, inner] of Object.entries(value)) {
    if (!isNames && name === '$recursiveRef' && inner === '#' && isRecursive) {
      refersToRoot = true;
      continue;
    }
    const isReference = !isNames && (name === '$ref' || name === '$dynamicRef');
    if (isReference && typeof inner === 'string') members.push([name, movedReference(inner)]);
    else if (!isNames && dataKeywords.has(name)) members.push([name, inner]);
    else {
      const next = moved(inner, !isNames && schemasByName.has(name), isRecursive, depth - 1);
      if (next === undefined) return undefined;
      members.push([name, next]);
    }
  }
  const schema: Json = Object.fromEntries(members);
  if (!refersToRoot) return schema;
  if (!('$ref' in schema)) return { ...schema, $ref: wrappedRoot };
  const { allOf } = schema;
  return { ...schema, allOf: [...(Array.isArray(allOf) ? allOf : []), { $ref: wrappedRoot }] };
}

/** Only `#` and `#/...` are relative to the root; anchors and other documents are not. */
const movedReference = (reference: string) =>
  reference === '#' || reference.startsWith('#/')
    ? `${wrappedRoot}${reference.slice(1)}`
    : reference;
