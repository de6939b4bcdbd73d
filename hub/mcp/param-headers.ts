import { isObject } from '#core';
import { type Span, membersOf } from '#jsonrpc';

/** A header that a call of a tool must repeat one argument in (MCP 2026-07-28, Streamable HTTP). */
export type ParamHeader = {
  /** The whole name of the header, as it was declared: `Mcp-Param-Region`. */
  readonly header: string;
  /** Where the argument stands: the names of the members that lead to it. */
  readonly path: readonly string[];
};

/** What a tool declares. One with a declaration against the rules must not be shown to a client over HTTP. */
export type ParamHeaders =
  | { readonly valid: true; readonly headers: readonly ParamHeader[] }
  | { readonly valid: false; readonly reason: string };

const annotation = 'x-mcp-header';
const types = ['string', 'integer', 'boolean'];
/** A header's name (RFC 9110, section 5.1). */
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Keywords with one schema in them, or an array of schemas. */
const holdsSchema = [
  'items',
  'prefixItems',
  'contains',
  'additionalItems',
  'additionalProperties',
  'unevaluatedItems',
  'unevaluatedProperties',
  'propertyNames',
  'contentSchema',
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
];
/** Keywords with schemas by name. */
const holdsSchemas = ['patternProperties', 'dependentSchemas', '$defs', 'definitions'];

const none: ParamHeaders = { valid: true, headers: [] };
const invalid = (reason: string): ParamHeaders => ({ valid: false, reason });

/**
 * Reads the `x-mcp-header` declarations of a tool, given its description as JSON. A parameter may have
 * one where it is a string, an integer or a boolean and is reached from the root of `inputSchema`
 * through `properties` alone; the names must be tokens and differ in more than their case.
 */
export function readParamHeaders(tool: Buffer): ParamHeaders {
  // Nearly all tools have none, and then their schema need not be parsed.
  if (!tool.includes(annotation)) return none;
  const span: Span | undefined = membersOf(tool, { start: 0, end: tool.length })?.get(
    'inputSchema',
  );
  if (!span) return none;
  const headers: ParamHeader[] = [];
  const seen = new Set<string>();

  /** Why the schema is against the rules; undefined where it is not. */
  function visit(schema: unknown, path: readonly string[], reachable: boolean): string | undefined {
    if (!isObject(schema)) return undefined;
    if (Object.hasOwn(schema, annotation)) {
      const problem = declare(schema, path, reachable);
      if (problem) return `${path.join('.') || 'inputSchema'}: ${annotation} ${problem}`;
    }
    return (
      visitAll(schema['properties'], path, reachable) ??
      first(holdsSchemas, keyword => visitAll(schema[keyword], path, false)) ??
      first(holdsSchema, keyword => {
        const inner = schema[keyword];
        return first(Array.isArray(inner) ? inner : [inner], one => visit(one, path, false));
      })
    );
  }

  function visitAll(byName: unknown, path: readonly string[], reachable: boolean) {
    if (!isObject(byName)) return undefined;
    return first(Object.entries(byName), ([name, schema]) =>
      visit(schema, [...path, name], reachable),
    );
  }

  function declare(
    schema: { readonly [key: string]: unknown },
    path: readonly string[],
    reachable: boolean,
  ): string | undefined {
    const { [annotation]: name, type } = schema;
    if (!reachable || path.length === 0)
      return 'may stand in properties only, not under items, $defs, oneOf and the like';
    if (typeof name !== 'string' || !token.test(name))
      return `is ${JSON.stringify(name)}, which is no name of a header`;
    if (typeof type !== 'string' || !types.includes(type))
      return `is for ${types.join(', ')}, and the type is ${JSON.stringify(type) ?? 'not told'}`;
    if (seen.has(name.toLowerCase())) return `${JSON.stringify(name)} is declared twice`;
    seen.add(name.toLowerCase());
    headers.push({ header: `Mcp-Param-${name}`, path });
    return undefined;
  }

  const schema: unknown = JSON.parse(tool.toString('utf8', span.start, span.end));
  const problem = visit(schema, [], true);
  if (problem) return invalid(problem);
  return headers.length === 0 ? none : { valid: true, headers };
}

function first<T>(all: readonly T[], find: (one: T) => string | undefined): string | undefined {
  for (const one of all) {
    const found = find(one);
    if (found !== undefined) return found;
  }
  return undefined;
}
