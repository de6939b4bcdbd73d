import assert from 'node:assert/strict';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { isObject } from '#core';
import { until } from '#helpers/hub';
import { encodeHeaderValue, metaKeys, modernVersion } from '#mcp';

type Json = { readonly [name: string]: unknown };

/** HTTP response whose body may still arrive. */
export type Response = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Resolves with the whole body. */
  readonly body: () => Promise<string>;
  readonly json: () => Promise<Json>;
  /** Returns the events received so far, as messages with their ids. */
  readonly events: () => readonly { readonly id: string; readonly message: Json | undefined }[];
  /** Returns the messages in events received so far, with or without ids. */
  readonly messages: () => readonly Json[];
  /** Returns the part of the body received so far. */
  readonly text: () => string;
  readonly ended: () => boolean;
  /** Stops reading the body. */
  readonly pause: () => void;
  /** Destroys the connection. */
  readonly cut: () => void;
};

export type Sent = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | object;
  /** Destroys the connection when aborted before the response. */
  readonly signal?: AbortSignal;
};

/** Sends one request with no more than the necessary headers. Resolves when the head of the response has arrived. */
export async function send(url: string, sent: Sent = {}): Promise<Response> {
  const body = typeof sent.body === 'object' ? JSON.stringify(sent.body) : sent.body;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const outgoing = request(url, {
    method: sent.method ?? 'GET',
    headers: {
      ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
      ...sent.headers,
    },
    agent: false,
    ...(sent.signal && { signal: sent.signal }),
  });
  outgoing.once('response', resolve).on('error', reject).end(body);
  const incoming = await promise;
  let text = '';
  let ended = false;
  incoming.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  incoming.on('close', () => (ended = true));
  incoming.on('error', () => (ended = true));
  const whole = async () => {
    await until(() => ended);
    return text;
  };
  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    body: whole,
    json: async () => jsonOf(await whole()),
    events: () =>
      [...text.matchAll(/id: (\S+)\n(?:retry: \d+\n)?data: (.*)\n\n/g)].map(([, id, data]) => ({
        id: id ?? '',
        message: data ? JSON.parse(data) : undefined,
      })),
    messages: () => [...text.matchAll(/^data: (.+)\n\n/gm)].map(([, data]) => jsonOf(data ?? '')),
    text: () => text,
    ended: () => ended,
    pause: () => void incoming.pause(),
    cut: () => incoming.destroy(),
  };
}

function jsonOf(text: string): Json {
  const value: unknown = JSON.parse(text);
  return isObject(value) ? value : assert.fail(text);
}

/** Headers of every POST of a client. */
export const posting = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
} as const;

/** Opens a session over HTTP, without the SDK. */
export async function openSession(
  url: string,
  protocolVersion = '2025-11-25',
  capabilities: object = {},
  more: Readonly<Record<string, string>> = {},
) {
  const opened = await send(url, {
    method: 'POST',
    headers: { ...posting, ...more },
    body: {
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params: { protocolVersion, capabilities, clientInfo: { name: 'raw', version: '1' } },
    },
  });
  assert.equal(opened.status, 200, await opened.body());
  const id = String(opened.headers['mcp-session-id']);
  const own = { 'mcp-session-id': id, 'mcp-protocol-version': protocolVersion };
  return {
    id,
    post: (
      body: string | object,
      headers: Readonly<Record<string, string>> = {},
      signal?: AbortSignal,
    ) =>
      send(url, {
        method: 'POST',
        headers: { ...posting, ...own, ...headers },
        body,
        ...(signal && { signal }),
      }),
    get: (headers: Readonly<Record<string, string>> = {}) =>
      send(url, { headers: { accept: 'text/event-stream', ...own, ...headers } }),
    end: () => send(url, { method: 'DELETE', headers: own }),
  };
}

/** Returns the message of a tool call. */
export const call = (id: string | number, name: string, given: object = {}, meta?: object) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: given, ...(meta && { _meta: meta }) },
});

/** The `_meta` of every request of the stateless revision. */
export const modernMeta = {
  [metaKeys.protocolVersion]: modernVersion,
  [metaKeys.clientCapabilities]: {},
} as const;

/** Returns a request of the stateless revision; `params` may contain a `_meta` that replaces the default. */
export const modernRequest = (id: string | number, method: string, params: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method,
  params: { _meta: modernMeta, ...params },
});

/** Returns the headers of a POST of the stateless revision. */
export const modernHeaders = (method: string, name?: string) => ({
  ...posting,
  'mcp-protocol-version': modernVersion,
  'mcp-method': method,
  ...(name !== undefined && { 'mcp-name': encodeHeaderValue(name) }),
});

/** Posts a request of the stateless revision with its headers; `given.headers` replaces some of them. */
export const postModern = (
  url: string,
  method: string,
  given: {
    readonly params?: object;
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
  signal?: AbortSignal,
) =>
  send(url, {
    method: 'POST',
    headers: { ...modernHeaders(method), ...given.headers },
    body: modernRequest(1, method, given.params),
    ...(signal && { signal }),
  });
