import { isObject, tryParseJson } from '#core';

/**
 * Returns the part of a tool's definition that clients pass to their models, as JSON: the name, the description and the
 * input schema. Models do not see annotations, titles, output schemas and `_meta`.
 */
export function textForModel(definition: Buffer): string {
  const tool = tryParseJson(definition.toString());
  const { name, description, inputSchema } = isObject(tool) ? tool : {};
  return JSON.stringify({ name, description, inputSchema });
}
