import { isObject, tryParseJson } from '#core';
import type { SearchedFields } from './word-index.ts';
import { splitName } from './words.ts';

/** A tool that can be searched for. */
export type SearchedTool = {
  /** Name of the tool's server. */
  readonly server: string;
  /** Name of the tool, without the server. */
  readonly name: string;
  /** Definition of the tool as JSON, as in `tools/list`. */
  readonly definition: Buffer;
};

/** Texts of a tool that are searched. */
export type ToolText = {
  readonly fields: SearchedFields;
  /** Texts for the embedding model: the description, and the names alone, which long descriptions outweigh. */
  readonly embedded: readonly [described: string, named: string];
};

/** Maximum length of a field in characters. Names and descriptions may be megabytes long. */
const maxFieldLength = 8_000;
/** Maximum length of an embedded text in characters. It fits into the context of all embedding models in use. */
const maxEmbeddedLength = 500;
/** Maximum nesting depth of parameters that are read. */
const maxDepth = 3;

/** Reads the searched texts of a tool. A definition that is not JSON has neither description nor parameters. */
export function readToolText({ server, name: whole, definition }: SearchedTool): ToolText {
  const parsed = tryParseJson(definition.toString());
  const { description: said, inputSchema } = isObject(parsed) ? parsed : {};
  const description = typeof said === 'string' ? said.slice(0, maxFieldLength) : '';
  const name = whole.slice(0, maxFieldLength);
  const named = `${splitName(server)} ${splitName(name)}`;
  const described = `${splitName(name)}: ${description.trim().replaceAll(/\s+/g, ' ')}`;
  return {
    fields: {
      name,
      server,
      description,
      parameters: parameterText(inputSchema, maxDepth).join(' ').slice(0, maxFieldLength),
    },
    embedded: [described.slice(0, maxEmbeddedLength), named.slice(0, maxEmbeddedLength)],
  };
}

/** Returns the names and descriptions of parameters, including nested ones. */
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
