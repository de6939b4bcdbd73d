import { createKeyedSlotMap } from '#core';
import { valueOf } from '#jsonrpc';
import type { ClientRequests } from './events/client-requests.ts';
import { isWanted } from './events/log-levels.ts';
import type { SessionState } from './session.ts';

export type SessionOptions = Pick<
  SessionState,
  'view' | 'principal' | 'outlet' | 'isConnected' | 'isSessionless'
> &
  Partial<Pick<SessionState, 'over' | 'openedAt' | 'asksChanged'>>;

/** Creates the state of a new session. */
export function createSessionState(
  key: string,
  options: SessionOptions,
  clientRequests: Pick<ClientRequests, 'forward'>,
): SessionState {
  const state: SessionState = {
    over: 'http',
    openedAt: 0,
    asksChanged() {},
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
    get isAsked() {
      return state.clientRequests.size > 0;
    },
    asked: (question, exchange) => clientRequests.forward(question, state, exchange),
    told({ method, bytes, params }, exchange, unasked) {
      const level = state.requestLevel ?? state.logLevel ?? unasked;
      if (method !== 'notifications/message') exchange.related(bytes);
      else if (level !== 'none' && isWanted(level, valueOf(bytes, params))) exchange.related(bytes);
    },
  };
  return state;
}
