import { isObject } from '#core';
import type { SearchedFields } from './word-index.ts';
import { splitName } from './words.ts';

/** A tool that can be found. */
export type SearchedTool = {
  /** Name of its server. */
  readonly server: string;
  /** Its name without that of its server. */
  readonly name: string;
  /** The definition in JSON, as in `tools/list`. */
  readonly definition: Buffer;
};

/** What is searched of a tool. */
export type ToolText = {
  readonly fields: SearchedFields;
  /** The texts that are embedded: one with the description, and the bare names, which long descriptions drown out. */
  readonly embedded: readonly [described: string, named: string];
};

/** Maximum length of a field in characters. Names and descriptions may have megabytes. */
const maxFieldLength = 8_000;
/** Characters of a description that are embedded. They fit into the context of every embedding model in use. */
const maxEmbeddedLength = 500;
/** Levels of objects within the parameters that are read. */
const maxDepth = 3;

/** Reads what is searched of a tool. A definition that is not JSON counts as one without description and parameters. */
export function readToolText({ server, name: whole, definition }: SearchedTool): ToolText {
  const parsed = parse(definition);
  const said = parsed['description'];
  const description = typeof said === 'string' ? said.slice(0, maxFieldLength) : '';
  const name = whole.slice(0, maxFieldLength);
  const named = `${splitName(server)} ${splitName(name)}`;
  const described = `${splitName(name)}: ${description.trim().replaceAll(/\s+/g, ' ')}`;
  return {
    fields: {
      name,
      server,
      description,
      parameters: parameterText(parsed['inputSchema'], maxDepth).join(' ').slice(0, maxFieldLength),
    },
    embedded: [described.slice(0, maxEmbeddedLength), named.slice(0, maxEmbeddedLength)],
  };
}

function parse(definition: Buffer): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(definition.toString());
    return isObject(parsed) ? parsed : {};
  } catch {
    return {}; // The server's list is not the search's to refuse.
  }
}

/** The names and descriptions of parameters, also of those within others. */
function parameterText(schema: unknown, depth: number): readonly string[] {
  const properties = isObject(schema) ? schema['properties'] : undefined;
  if (!isObject(properties) || depth === 0) return [];
  return Object.entries(properties).flatMap(([name, property]) => {
    if (!isObject(property)) return [name];
    const { description, items } = property;
    return [
      name,
      ...(typeof description === 'string' ? [description] : []),
      ...parameterText(property, depth - 1),
      ...parameterText(items, depth - 1),
    ];
  });
}
