import assert from 'node:assert/strict';
import { caller } from '#helpers/principal';
import { type Request, readMessage } from '#jsonrpc';
import type { Principal } from '#policy';
import type { Endpoint } from '#routing';
import type { ResponseStream } from '#upstream';
import { type Call, readCall } from '../../../hub/routing/call.ts';
import {
  type SessionOptions,
  type SessionState,
  createSessionState,
} from '../../../hub/routing/session.ts';

/** Creates a session without a transport. */
export const sessionOf = (options: Partial<SessionOptions> = {}): SessionState =>
  createSessionState(
    '1',
    { endpoint: 'all', principal: caller, send() {}, isSessionless: false, ...options },
    { forward() {} },
  );

/** Parses the request in a JSON text. */
export function readRequest(text: string): Request {
  const request = readMessage(Buffer.from(text));
  return request.kind === 'request' ? request : assert.fail(text);
}

type Circumstances = {
  readonly session?: SessionState;
  readonly principal?: Principal;
  readonly responseStream?: ResponseStream;
};

/** Creates a request as the router reads it; `params` may be JSON text. */
export function callWith(
  method: string,
  params: object | string,
  { session = sessionOf(), principal = caller, responseStream = { send() {} } }: Circumstances = {},
): Call {
  const text = typeof params === 'string' ? params : JSON.stringify(params);
  const request = `{"jsonrpc":"2.0","id":1,"method":${JSON.stringify(method)},"params":${text}}`;
  return readCall(readRequest(request), session, responseStream, principal, 0);
}

/** Creates a request of a client with a session, as the router reads it. */
export const callOf = (method: string, params: object = {}, endpoint: Endpoint = 'all'): Call =>
  callWith(method, params, { session: sessionOf({ endpoint }) });

/** Returns the `_meta` of a request of a client without a session. */
export const modernMeta = (more: object = {}) => ({
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  ...more,
});
