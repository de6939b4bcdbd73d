import { isUtf8 } from 'node:buffer';
import { type Request, type Span, membersOf, rawText, stringAt } from '#jsonrpc';
import type { ParamHeader } from './param-headers.ts';

/** The headers of MCP over HTTP, as Node names them: in lower case. */
export const mcpHeaders = {
  version: 'mcp-protocol-version',
  method: 'mcp-method',
  name: 'mcp-name',
  session: 'mcp-session-id',
} as const;

/** What the header `Mcp-Name` repeats, by method: a member of the params. */
const nameMembers: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);

/** The member of the params that `Mcp-Name` repeats; undefined where the method has none. */
export function nameMember(method: string): string | undefined {
  return nameMembers.get(method);
}

const prefix = '=?base64?';
const suffix = '?=';
/** A header says this much as it is (RFC 9110, section 5.5); what is around it gets lost on the way. */
const plain = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/;
/** What may come in as it is: also nothing. */
const readable = /^[\x20-\x7e\t]*$/;

const looksEncoded = (value: string) => value.startsWith(prefix) && value.endsWith(suffix);

/** A text as the value of a header: as it is, or as Base64 of its UTF-8 where a header cannot say it. */
export function encodeHeaderValue(text: string): string {
  return plain.test(text) && !looksEncoded(text)
    ? text
    : `${prefix}${Buffer.from(text).toString('base64')}${suffix}`;
}

/** The text that a header says; undefined for characters that it may not have and for bad Base64. */
export function decodeHeaderValue(value: string): string | undefined {
  if (!looksEncoded(value)) return readable.test(value) ? value : undefined;
  // The question mark of the beginning is not that of the end.
  if (value.length < prefix.length + suffix.length) return undefined;
  const encoded = value.slice(prefix.length, -suffix.length);
  const bytes = Buffer.from(encoded, 'base64');
  // Node overlooks what does not belong there: only the proper form comes back as it was.
  return bytes.toString('base64') === encoded && isUtf8(bytes) ? bytes.toString() : undefined;
}

/**
 * The headers that a request must have besides `MCP-Protocol-Version`: what they repeat of it, encoded.
 * `declared` is what the tool declares that is called. Arguments that are absent, null or too large an
 * integer have none.
 */
export function headersFor(
  request: Request,
  declared: readonly ParamHeader[],
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = { 'Mcp-Method': encodeHeaderValue(request.method) };
  const params = membersOf(request.bytes, request.params);
  const name = nameIn(request, params);
  if (name !== undefined) headers['Mcp-Name'] = encodeHeaderValue(name);
  for (const { header, path } of declared) {
    const value = argumentAt(request.bytes, params?.get('arguments'), path);
    if (value !== undefined && value !== 'ambiguous')
      headers[header] = encodeHeaderValue(String(value.value));
  }
  return headers;
}

/**
 * Why the headers of a request do not say what its body says, as a sentence; undefined where they do.
 * Names of headers are in lower case. `MCP-Protocol-Version` is compared elsewhere.
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
      // A reader of the header alone would take 1 and "1" for the same name.
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

function nameIn(
  { method, bytes }: Request,
  params: ReadonlyMap<string, Span> | undefined,
): string | undefined {
  const member = nameMember(method);
  return member === undefined ? undefined : stringAt(bytes, params?.get(member));
}

/** A value that can stand in a header; undefined where there is none. */
function argumentAt(
  bytes: Buffer,
  from: Span | undefined,
  path: readonly string[],
): { readonly value: string | number | boolean } | 'ambiguous' | undefined {
  let span = from;
  for (const name of path) {
    const members = membersOf(bytes, span);
    // What two readers take for two things must not be decided on by one of them.
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

/** Numbers are the same where they have the same value: 42.0 is 42. */
function isSame(said: string | undefined, value: string | number | boolean): boolean {
  return typeof value === 'number' && said !== undefined && decimal.test(said)
    ? Number(said) === value
    : said === String(value);
}

/** A header that came twice is one value to Node, but for a few that MCP does not use. */
const textOf = (value: string | readonly string[] | undefined) =>
  typeof value === 'string' ? value : value?.join(', ');

/** How much of a value is shown: the client knows what it sent. */
const maxShown = 100;
const shown = (text: string) =>
  JSON.stringify(text.length > maxShown ? `${text.slice(0, maxShown)}...` : text);

/** As much of a value as `shown` shows, and a byte more to tell that it was longer. */
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
