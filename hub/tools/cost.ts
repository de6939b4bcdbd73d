import { isObject, tryParseJson } from '#core';

/**
 * The part of a tool's definition that clients pass to their models, as JSON: the name, the description and the schema
 * of the arguments. Clients keep annotations, titles, output schemas and `_meta` to themselves.
 */
export function textForModel(definition: Buffer): string {
  const tool = tryParseJson(definition.toString());
  const { name, description, inputSchema } = isObject(tool) ? tool : {};
  return JSON.stringify({ name, description, inputSchema });
}
