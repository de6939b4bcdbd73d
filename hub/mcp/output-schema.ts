import { isObject } from '#core';
import { membersOf, splice, stringAt, valueOf } from '#jsonrpc';

/**
 * MCP 2026-07-28 lets the root of a tool's `outputSchema` be of any type, and `structuredContent` be any value
 * (SEP-2106). In the revisions before it both are objects. For clients of those the official SDK's servers put
 * such a schema and such a value into an object with the one member `result`; the hub does the same.
 */

/** Deeper schemas are not wrapped: each level is a call in a call. */
const maxDepth = 500;

/** Members whose value is data, not a schema: a `$ref` in it points nowhere. */
const dataKeywords: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples']);
/** Members that hold schemas by names of the author's choice, which may be those of keywords. */
const schemasByName: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
]);

/** Where the schema stands in the object that it is wrapped in. */
const wrappedRoot = '#/properties/result';

type Json = { readonly [name: string]: unknown };

/**
 * The description of a tool for clients of the revisions before 2026-07-28. Undefined where it is the same for
 * all, or its schema is nested too deeply to be wrapped.
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

/** Whether references in it are resolved against its own `$id`, and so stay as they are. */
const isBase = ({ $id }: Json) =>
  $id !== undefined && !(typeof $id === 'string' && $id.startsWith('#'));

/**
 * The schema with its references to the root of the document as they must be in the place it is moved to.
 * `isNames`: the names in it are those of schemas. Undefined where it is nested too deeply.
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

/** Only what begins with `#` or `#/` counts from the root; anchors and other documents do not. */
const movedReference = (reference: string) =>
  reference === '#' || reference.startsWith('#/')
    ? `${wrappedRoot}${reference.slice(1)}`
    : reference;
