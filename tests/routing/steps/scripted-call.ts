import assert from 'node:assert/strict';
import { caller } from '#helpers/principal';
import { readMessage } from '#jsonrpc';
import type { Endpoint } from '#routing';
import { type Call, readCall } from '../../../hub/routing/call.ts';
import { createSessionState } from '../../../hub/routing/session.ts';

/** A request of a client with a session, as the router reads it. */
export function callOf(method: string, params: object = {}, endpoint: Endpoint = 'all'): Call {
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const request = readMessage(Buffer.from(text));
  if (request.kind !== 'request') return assert.fail(text);
  const session = createSessionState(
    '1',
    { endpoint, principal: caller, send() {}, isConnected: () => true, isSessionless: false },
    { forward() {} },
  );
  return readCall(request, session, { send() {} }, caller, 0);
}
