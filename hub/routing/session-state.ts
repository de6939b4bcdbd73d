import { createKeyedSlotMap } from '#core';
import { valueOf } from '#jsonrpc';
import type { ClientRequests } from './events/client-requests.ts';
import { isWanted } from './events/log-levels.ts';
import type { SessionState } from './session.ts';

export type SessionOptions = Pick<
  SessionState,
  'endpoint' | 'principal' | 'send' | 'isConnected' | 'isSessionless'
> &
  Partial<Pick<SessionState, 'over' | 'openedAt' | 'clientRequestsChanged'>>;

/** Creates the state of a new session. */
export function createSessionState(
  key: string,
  options: SessionOptions,
  clientRequests: Pick<ClientRequests, 'forward'>,
): SessionState {
  const state: SessionState = {
    over: 'http',
    openedAt: 0,
    clientRequestsChanged() {},
    ...options,
    key,
    protocolVersion: undefined,
    client: undefined,
    logLevel: undefined,
    requestLevel: undefined,
    inFlight: createKeyedSlotMap(),
    instances: new Map(),
    own: undefined,
    clientRequests: new Map(),
    get hasOpenRequest() {
      return state.clientRequests.size > 0;
    },
    serverRequest: (request, responseStream) =>
      clientRequests.forward(request, state, responseStream),
    notification({ method, bytes, params }, responseStream, defaultLevel) {
      const level = state.requestLevel ?? state.logLevel ?? defaultLevel;
      if (method !== 'notifications/message') responseStream.send(bytes);
      else if (level !== 'none' && isWanted(level, valueOf(bytes, params)))
        responseStream.send(bytes);
    },
  };
  return state;
}
