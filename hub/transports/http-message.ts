import { Buffer } from 'node:buffer';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { retryable } from '#core';
import {
  type ReplyBytes,
  encodeError,
  errorAnswer,
  membersOf,
  rawText,
  readMessage,
  rpcCodes,
  whole,
} from '#jsonrpc';
import { modernVersions, protocolVersions } from '#mcp';
import type { Principal } from '#policy';
import type { Endpoint } from '#routing';

/** The members of a request that the transports use, as in Node's `IncomingMessage`. */
export type HttpRequest = Pick<IncomingMessage, 'method' | 'headers'>;

/** The members of a response that the transports use, with the meaning of Node's `ServerResponse`. */
export interface HttpResponse {
  readonly headersSent: boolean;
  readonly destroyed: boolean;
  /** Number of bytes that were written and not sent to the client yet. */
  readonly writableLength: number;
  writeHead(
    status: number,
    headers?: Readonly<Record<string, string | number>>,
  ): Pick<HttpResponse, 'end'>;
  flushHeaders(): void;
  write(chunk: Buffer | string): boolean;
  end(chunk?: Buffer): unknown;
  cork(): void;
  uncork(): void;
  /** Calls `stalled` if no bytes were sent or received on the connection for `delayMs`. */
  setTimeout(delayMs: number, stalled: () => void): unknown;
  destroy(): unknown;
  on(event: 'close', listener: () => void): unknown;
  once(event: 'close', listener: () => void): unknown;
}

/** A request to an MCP endpoint, from a principal that the guard admitted, without the body. */
export type EndpointRequest = {
  readonly headers: IncomingHttpHeaders;
  readonly response: HttpResponse;
  readonly endpoint: Endpoint;
  readonly principal: Principal;
  readonly acceptsJson: boolean;
  readonly acceptsStream: boolean;
};

/**
 * Reads the accepted media types of a request, in upper or lower case (RFC 9110, section 8.3.1). If there is no Accept
 * header, all types are accepted.
 */
export function readRequest(
  { headers }: HttpRequest,
  response: HttpResponse,
  endpoint: Endpoint,
  principal: Principal,
): EndpointRequest {
  const accept = headers.accept?.toLowerCase() ?? '*/*';
  const any = accept.includes('*/*');
  return {
    headers,
    response,
    endpoint,
    principal,
    acceptsJson: any || accept.includes('application/json') || accept.includes('application/*'),
    acceptsStream: any || accept.includes('text/event-stream') || accept.includes('text/*'),
  };
}

/** True if Content-Type is JSON, which MCP requires of every POST. */
export function isJson({ 'content-type': type }: IncomingHttpHeaders): boolean {
  return type === 'application/json' || /^application\/json\s*(;|$)/i.test(type ?? '');
}

/** Returns why the hub cannot read a compressed body; undefined for any other body. */
export function whyCompressed({ 'content-encoding': encoding }: IncomingHttpHeaders) {
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return undefined;
  return `Content-Encoding is ${JSON.stringify(encoding)}: send the body uncompressed`;
}

/**
 * Returns the name that a client gives itself in X-Client-Name, for the rules about its prompts; undefined without the
 * header. The name is not authenticated.
 */
export function clientNameIn(headers: IncomingHttpHeaders): string | undefined {
  const name = headers['x-client-name'];
  return typeof name === 'string' ? name.trim().slice(0, maxClientName) || undefined : undefined;
}

/** Maximum length in characters of a client name. Names in the config are shorter. */
const maxClientName = 100;

/** Returns the `traceparent` header (W3C Trace Context). */
export function traceparentOf({ traceparent }: IncomingHttpHeaders): string | undefined {
  return typeof traceparent === 'string' ? traceparent : undefined;
}

/** Time in ms after which a connection that accepts no bytes of an answer is dropped. */
export const stalledMs = 60_000;

export const eventStreamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;

/** A server-sent event comment that keeps proxies from closing an event stream. */
export const keepAliveComment = ': keep-alive\n\n';

/** Sends a JSON body in one write. */
export function sendJson(
  response: HttpResponse,
  status: number,
  body: ReplyBytes,
  headers?: Readonly<Record<string, string>>,
): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': lengthOf(body),
    ...headers,
  });
  if (Buffer.isBuffer(body)) response.end(body);
  else {
    response.cork();
    for (const piece of body) response.write(piece);
    response.end();
    response.uncork();
  }
  // Most answers are sent at once. Other answers stay in memory until the client reads them.
  if (response.writableLength > 0) response.setTimeout(stalledMs, () => response.destroy());
}

/** Returns the length of an answer in bytes. */
export function lengthOf(body: ReplyBytes): number {
  return Buffer.isBuffer(body) ? body.length : body.reduce((sum, { length }) => sum + length, 0);
}

/** Joins the answers to a batch to one message. Uses no string, because V8 limits the length of strings. */
export function batchOf(answers: readonly ReplyBytes[]): Buffer {
  const pieces = answers.flatMap((answer, at) => [at === 0 ? opening : separator, whole(answer)]);
  return Buffer.concat([...pieces, closing]);
}

const opening = Buffer.from('[');
const separator = Buffer.from(',');
const closing = Buffer.from(']');

/** `data` of a refusal that has no HubError code. */
export const requestInvalid = { code: 'HUB_REQUEST_INVALID' } as const;

/** Answers with a JSON-RPC error that has the id of the request in `body`. */
export function refuse(
  response: HttpResponse,
  status: number,
  code: number,
  message: string,
  body?: Buffer,
): void {
  sendJson(response, status, encodeError(idOf(body), code, message, requestInvalid));
}

/** Returns the id of the single request in a body, as JSON text; `null` for any other body. */
export function idOf(body: Buffer | undefined): string {
  if (!body || body.length === 0) return 'null';
  const message = readMessage(body);
  return message.kind === 'request' ? rawText(message.bytes, message.id) : 'null';
}

/** HTTP status by JSON-RPC error code (MCP 2026-07-28). The status of any other code is 200. */
const statusOfCode: ReadonlyMap<number, number> = new Map([
  [rpcCodes.methodNotFound, 404],
  [rpcCodes.headerMismatch, 400],
  [rpcCodes.missingCapability, 400],
  [rpcCodes.unsupportedVersion, 400],
]);

/** Returns the HTTP status for a JSON-RPC answer of the stateless revision. */
export function statusOf(answer: Buffer): number {
  // Avoids parsing large results.
  if (!answer.includes('"error"')) return 200;
  const message = readMessage(answer);
  if (message.kind !== 'answer' || !message.failed) return 200;
  const code = membersOf(message.bytes, message.payload)?.get('code');
  return (code && statusOfCode.get(Number(rawText(message.bytes, code)))) ?? 200;
}

/** JSON-RPC code for refusals that have no code in JSON-RPC or MCP, as in the SDKs. */
export const refused = -32000;

/** Answers 400 to a request with an unknown revision. */
export function refuseVersion(response: HttpResponse, version: unknown, body?: Buffer): void {
  const known = [...modernVersions, ...protocolVersions].join(', ');
  const why = `MCP-Protocol-Version is ${JSON.stringify(version)}; the hub speaks ${known}`;
  refuse(response, 400, refused, why, body);
}

/** Answers 405 with the allowed methods. */
export function refuseMethod(
  response: HttpResponse,
  method: string | undefined,
  allow: string,
): void {
  const why = `${method} is not a method of this endpoint`;
  sendJson(response, 405, encodeError('null', refused, why, requestInvalid), { allow });
}

/** Returns the error for a request while the hub stops. */
export const stopping = () => retryable('HUB_SHUTTING_DOWN', 'the hub is stopping');

/** Value of Retry-After in seconds. A restart of the hub takes less. */
export const retryAfterSeconds = 5;

/** Answers 503 with Retry-After. `id` is the id of the request as JSON text. */
export function sendUnavailable(response: HttpResponse, id: string, error: unknown): void {
  sendJson(response, 503, errorAnswer(id, error), { 'retry-after': String(retryAfterSeconds) });
}
