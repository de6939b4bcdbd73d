import { isObject } from '#core';
import { membersOf } from '#jsonrpc';

/** A header that must repeat an argument of a tool call (MCP 2026-07-28, Streamable HTTP). */
export type ParamHeader = {
  /** Complete name of the header, such as `Mcp-Param-Region`. */
  readonly header: string;
  /** Path of the argument: member names from the root. */
  readonly path: readonly string[];
};

/** Header declarations of a tool. Tools with invalid declarations must not be listed to clients over HTTP. */
type ParamHeaders =
  | { readonly valid: true; readonly headers: readonly ParamHeader[] }
  | { readonly valid: false; readonly reason: string };

const annotation = 'x-mcp-header';
const types = ['string', 'integer', 'boolean'];
/** Matches a header name (RFC 9110, section 5.1). */
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Keywords that contain a schema or an array of schemas. */
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
/** Keywords that contain schemas by name. */
const holdsSchemas = ['patternProperties', 'dependentSchemas', '$defs', 'definitions'];

const none: ParamHeaders = { valid: true, headers: [] };
const invalid = (reason: string): ParamHeaders => ({ valid: false, reason });

/**
 * Reads the `x-mcp-header` declarations of a tool from its JSON description. A declaration is valid for a string,
 * integer or boolean that is reached from the root of `inputSchema` only through `properties`. Names must be tokens,
 * and differ in more than case.
 */
export function readParamHeaders(tool: Buffer): ParamHeaders {
  // Nearly all tools declare no headers, so their schema is not parsed.
  if (!tool.includes(annotation)) return none;
  const span = membersOf(tool, { start: 0, end: tool.length })?.get('inputSchema');
  if (!span) return none;
  const headers: ParamHeader[] = [];
  const seen = new Set<string>();

  /** Returns the reason why the schema is invalid, if any. */
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
    { [annotation]: name, type }: { readonly [key: string]: unknown },
    path: readonly string[],
    reachable: boolean,
  ): string | undefined {
    if (!reachable || path.length === 0)
      return 'may stand in properties only, not under items, $defs, oneOf and the like';
    if (typeof name !== 'string' || !token.test(name))
      return `is ${JSON.stringify(name)}, which is not a name of a header`;
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
