import type { IncomingMessage } from 'node:http';
import { HubError, isObject, messageOf, tryParseJson, withoutSecrets } from '#core';
import type { RemoteEndpoint, HttpClient } from './http-client.ts';

/** Maximum number of bytes that are read of the body of an error. */
export const maxErrorBytes = 65_536;
const maxQuotedLength = 300;

export function bodyKind({ headers }: IncomingMessage): 'json' | 'events' | 'other' {
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  return type === 'application/json' ? 'json' : type === 'text/event-stream' ? 'events' : 'other';
}

export function isSuccess({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode < 300;
}

/**
 * Reads the body of a response. `body` is undefined if it exceeds `maxBytes`; `bytes` is the number of bytes that were
 * read. Rejects with HUB_REMOTE_UNREACHABLE if the connection breaks: any other error would count as an answer of the
 * server.
 */
export async function readBody(
  { server }: Pick<RemoteEndpoint, 'server'>,
  response: IncomingMessage,
  maxBytes: number,
): Promise<{ readonly body: Buffer | undefined; readonly bytes: number }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const piece of response) {
      const chunk: Buffer = piece;
      bytes += chunk.length;
      if (bytes > maxBytes) return { body: undefined, bytes };
      chunks.push(chunk);
    }
  } catch (cause) {
    throw new HubError(
      'HUB_REMOTE_UNREACHABLE',
      `${server} broke its answer off: ${messageOf(cause)}`,
      { cause, data: { server, retryable: true } },
    );
  }
  return { body: Buffer.concat(chunks, bytes), bytes };
}

/** Requests an event stream. Rejects with the server's error if the response is not a stream. */
export async function requestEvents(
  endpoint: RemoteEndpoint,
  http: HttpClient,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { url } = endpoint;
  const response = await http.request({ method: 'GET', url, headers, signal });
  if (isSuccess(response) && bodyKind(response) === 'events') return response;
  const { body } = await readBody(endpoint, response, maxErrorBytes);
  throw refusalOf(endpoint, url, response, body);
}

/**
 * Creates the error for an unusable response, with advice. Redacted: clients see it, and a server may echo the
 * credentials.
 */
export function refusalOf(
  { server, redact }: Pick<RemoteEndpoint, 'server' | 'redact'>,
  url: URL,
  response: IncomingMessage,
  body: Buffer | undefined,
): HubError {
  const status = response.statusCode ?? 0;
  const quoted = shortened(redact(quote(response, body)));
  return new HubError(
    'HUB_REMOTE_UNREACHABLE',
    `${server} at ${withoutSecrets(url)} ${redact(explain(url, response))}${quoted && `. It says: ${quoted}`}`,
    { data: { server, status, retryable: status === 429 || status >= 500 } },
  );
}

function explain(url: URL, response: IncomingMessage): string {
  const { statusCode = 0, statusMessage = '', headers } = response;
  const status = `${statusCode} ${statusMessage}`.trim();
  if (isSuccess(response))
    return `answered ${status} with ${headers['content-type'] ?? 'no content type'}, which is not MCP. Check that "url" is the MCP endpoint itself`;
  if (statusCode >= 300 && statusCode < 400 && headers.location !== undefined)
    return `redirects to ${locationOf(headers.location, url)} (${status}), which is not followed. Put that address into "url" if it is the server's`;
  if (statusCode === 401 || statusCode === 403)
    return `refused the hub (${status}). Check the credentials in "headers"`;
  if (statusCode === 404 || statusCode === 405)
    return `has no MCP endpoint there (${status}). Check "url"; a server of the older transport needs "sse"`;
  return `answered ${status}`;
}

function locationOf(location: string, base: URL): string {
  const target = URL.parse(location, base.href);
  return target ? withoutSecrets(target) : 'an address that is not a URL';
}

/** Returns the server's own error message, from a JSON-RPC error or plain text. HTML is ignored. */
function quote(response: IncomingMessage, body: Buffer | undefined): string {
  if (!body || body.length === 0) return '';
  const type = response.headers['content-type'] ?? '';
  const text = body.toString('utf8');
  if (type.startsWith('text/plain')) return text;
  if (bodyKind(response) !== 'json') return '';
  const value = tryParseJson(text);
  const error = isObject(value) ? value['error'] : undefined;
  const message = isObject(error) ? error['message'] : error;
  return typeof message === 'string' ? message : '';
}

function shortened(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ');
  return line.length > maxQuotedLength
    ? `${line.slice(0, maxQuotedLength).toWellFormed()}...`
    : line;
}
