import { isObject } from '#core';

/** Formats the result of a tool: text blocks as they are, and one line for each other block. */
export function textOfResult(result: { readonly [key: string]: unknown }): string {
  const { content, structuredContent } = result;
  const blocks = Array.isArray(content) ? content.filter(isObject).map(textOfBlock) : [];
  // Text blocks duplicate structured content for clients that do not support it.
  if (blocks.length === 0 && structuredContent !== undefined)
    return JSON.stringify(structuredContent, null, 2);
  return blocks.join('\n');
}

function textOfBlock(block: { readonly [key: string]: unknown }): string {
  const { type, text, mimeType, data, uri, resource } = block;
  if (typeof text === 'string') return text;
  if (type === 'resource_link') return String(uri);
  if (isObject(resource))
    return typeof resource['text'] === 'string'
      ? resource['text']
      : `[${String(resource['uri'])}${sizeOf(resource['blob'])}: --json has it]`;
  return `[${String(type)}${typeof mimeType === 'string' ? ` ${mimeType}` : ''}${sizeOf(data)}: --json has it]`;
}

const sizeOf = (base64: unknown) =>
  typeof base64 === 'string' ? `, ${Buffer.byteLength(base64, 'base64')} bytes` : '';
