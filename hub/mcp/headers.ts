import { isUtf8 } from 'node:buffer';
import { type Request, type Span, membersOf, rawText, stringAt } from '#jsonrpc';
import type { ParamHeader } from './param-headers.ts';

/** Headers of MCP over HTTP, in lower case like in Node. */
export const mcpHeaders = {
  version: 'mcp-protocol-version',
  method: 'mcp-method',
  name: 'mcp-name',
  session: 'mcp-session-id',
} as const;

/** The member of the params whose value the header `Mcp-Name` repeats, by method. */
const nameMembers: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);

/** Returns the member of the params whose value `Mcp-Name` repeats; undefined if there is none. */
export const nameMember = (method: string) => nameMembers.get(method);

const prefix = '=?base64?';
const suffix = '?=';
/** Matches values that need no encoding (RFC 9110, section 5.5). Surrounding white space would be lost. */
const plain = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/;
/** Matches values that are accepted without encoding, including the empty value. */
const readable = /^[\x20-\x7e\t]*$/;

const looksEncoded = (value: string) => value.startsWith(prefix) && value.endsWith(suffix);

/** Encodes a text as a header value, as Base64 of its UTF-8 if necessary. */
export function encodeHeaderValue(text: string): string {
  return plain.test(text) && !looksEncoded(text)
    ? text
    : `${prefix}${Buffer.from(text).toString('base64')}${suffix}`;
}

/** Decodes a header value. Undefined for invalid characters and invalid Base64. */
export function decodeHeaderValue(value: string): string | undefined {
  if (!looksEncoded(value)) return readable.test(value) ? value : undefined;
  // In a shorter value, such as `=?base64?=`, prefix and suffix overlap.
  if (value.length < prefix.length + suffix.length) return undefined;
  const encoded = value.slice(prefix.length, -suffix.length);
  const bytes = Buffer.from(encoded, 'base64');
  // Node ignores invalid characters, so the result is encoded again and compared.
  return bytes.toString('base64') === encoded && isUtf8(bytes) ? bytes.toString() : undefined;
}

/**
 * Returns the headers of a request in addition to `MCP-Protocol-Version`, with encoded values. `declared`: headers
 * that the called tool declares. Arguments that are absent, null or integers out of range have no header.
 */
export function headersFor(
  request: Request,
  declared: readonly ParamHeader[],
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = { 'Mcp-Method': encodeHeaderValue(request.method) };
  const params = membersOf(request.bytes, request.params);
  const member = nameMember(request.method);
  const name = member === undefined ? undefined : stringAt(request.bytes, params?.get(member));
  if (name !== undefined) headers['Mcp-Name'] = encodeHeaderValue(name);
  for (const { header, path } of declared) {
    const value = argumentAt(request.bytes, params?.get('arguments'), path);
    if (value !== undefined && value !== 'ambiguous')
      headers[header] = encodeHeaderValue(String(value.value));
  }
  return headers;
}

/**
 * Describes the first difference between the headers and the body of a request, if any. Header names are in lower case.
 * Does not compare `MCP-Protocol-Version`.
 */
export function headerMismatch(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  request: Request,
  params: ReadonlyMap<string, Span> | undefined,
  declared: readonly ParamHeader[],
): string | undefined {
  const method = headers[mcpHeaders.method];
  if (method !== request.method)
    return mismatch('Mcp-Method', method, `the method ${shown(request.method)}`);
  const member = nameMember(request.method);
  if (member !== undefined) {
    const span = params?.get(member);
    const name = stringAt(request.bytes, span);
    const value = textOf(headers[mcpHeaders.name]);
    if (name !== undefined) {
      if (value === undefined || decodeHeaderValue(value) !== name)
        return mismatch('Mcp-Name', value, `params.${member} ${shown(name)}`);
    } else if (span || value !== undefined) {
      // In the header, 1 and "1" would be the same name.
      const is = span ? shown(startOf(request.bytes, span)) : 'missing';
      return mismatch('Mcp-Name', value, `params.${member}, which must be a string and is ${is}`);
    }
  }
  for (const { header, path } of declared) {
    const at = `params.arguments.${path.join('.')}`;
    const value = textOf(headers[header.toLowerCase()]);
    const decoded = value === undefined ? undefined : decodeHeaderValue(value);
    if (value !== undefined && decoded === undefined)
      return mismatch(header, value, `${at} in plain ASCII or as =?base64?...?=`);
    const argument = argumentAt(request.bytes, params?.get('arguments'), path);
    if (argument === 'ambiguous') return `${at}: a name stands twice on the way to it`;
    if (argument !== undefined && !isSame(decoded, argument.value))
      return mismatch(header, value, `${at} ${shown(String(argument.value))}`);
  }
  return undefined;
}

/** Returns an argument as a value that a header can contain; otherwise undefined. */
function argumentAt(
  bytes: Buffer,
  from: Span | undefined,
  path: readonly string[],
): { readonly value: string | number | boolean } | 'ambiguous' | undefined {
  let span = from;
  for (const name of path) {
    const members = membersOf(bytes, span);
    // Parsers interpret duplicate members differently.
    if (!members && span && bytes[span.start] === 0x7b) return 'ambiguous';
    span = members?.get(name);
  }
  if (!span) return undefined;
  const text = stringAt(bytes, span);
  if (text !== undefined) return { value: text };
  const raw = rawText(bytes, span);
  if (raw === 'true' || raw === 'false') return { value: raw === 'true' };
  const number = raw === 'null' ? NaN : Number(raw);
  const isExact =
    Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number));
  return isExact ? { value: number } : undefined;
}

const decimal = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Compares numbers by value: 42.0 equals 42. */
function isSame(said: string | undefined, value: string | number | boolean): boolean {
  return typeof value === 'number' && said !== undefined && decimal.test(said)
    ? Number(said) === value
    : said === String(value);
}

/** Node joins duplicate headers into one value, except for some that MCP does not use. */
const textOf = (value: string | readonly string[] | undefined) =>
  typeof value === 'string' ? value : value?.join(', ');

/** Maximum length of a header value in error messages. */
const maxShown = 100;
const shown = (text: string) =>
  JSON.stringify(text.length > maxShown ? `${text.slice(0, maxShown)}...` : text);

/** Returns the part of a value that `shown` shows, and one more byte to detect truncation. */
const startOf = (bytes: Buffer, { start, end }: Span) =>
  rawText(bytes, { start, end: Math.min(end, start + maxShown + 1) });

function mismatch(
  header: string,
  value: string | readonly string[] | undefined,
  wanted: string,
): string {
  const is = value === undefined ? 'is missing' : `is ${shown(String(value))}`;
  return `the header ${header} ${is}: it must repeat ${wanted}`;
}
