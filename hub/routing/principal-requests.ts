import {
  HubError,
  type JsonObject,
  isJsonObject,
  isObject,
  tryParseExactly,
  tryParseJson,
} from '#core';
import { readMessage, whole } from '#jsonrpc';
import type { Principal } from '#policy';
import { waitingMethod } from './call.ts';
import type { Router } from './router.ts';
import type { Endpoint } from './session.ts';

/** Requests of an agent or a job of the hub, as of a client. */
export interface PrincipalRequests {
  /** Resolves with the result. Rejects with HubError. */
  request(
    method: 'tools/list' | 'tools/call',
    params: JsonObject,
    signal: AbortSignal,
    options?: RequestOptions,
  ): Promise<JsonObject>;
  /** Cancels all requests under way. */
  close(reason: string): void;
}

type RequestOptions = {
  /** Default: all servers. */
  readonly endpoint?: Endpoint;
  /** Called with the message of each progress notification. */
  readonly progress?: ((message: string) => void) | undefined;
  /** Called when the call waits for a person, with what the person has to do. */
  readonly waiting?: (message: string) => void;
};

const progressToken = 1;

/**
 * Sends requests through the router as a principal of its own, where policy, limits, breakers, the audit log and the activity
 * apply as to any client.
 */
export function createPrincipalRequests(
  principal: Principal,
  router: Pick<Router, 'openSessionless'>,
): PrincipalRequests {
  const open = new Set<ReturnType<Router['openSessionless']>>();
  let last = 0;
  return {
    async request(method, params, signal, { endpoint = 'all', progress, waiting } = {}) {
      const asked = progress ? { ...params, _meta: { progressToken } } : params;
      const text = JSON.stringify({ jsonrpc: '2.0', id: ++last, method, params: asked });
      const request = readMessage(Buffer.from(text));
      if (request.kind !== 'request') throw new TypeError('it is a request');
      signal.throwIfAborted();
      const session = router.openSessionless(endpoint, principal);
      open.add(session);
      const end = () => session.close('the request is no longer needed');
      signal.addEventListener('abort', end);
      try {
        const send = (bytes: Buffer) => {
          if (progress) tell(bytes, 'notifications/progress', progress);
          if (waiting) tell(bytes, waitingMethod, waiting);
        };
        const reply = await session.accept(request, { send }, principal);
        if (!reply) throw new HubError('HUB_CALL_CANCELLED', 'the request was cancelled');
        return resultOf(tryParseExactly(whole(reply).toString()));
      } finally {
        signal.removeEventListener('abort', end);
        open.delete(session);
        session.close('the request is over');
      }
    },
    close(reason) {
      for (const session of open) session.close(reason);
    },
  };
}

/** Passes the message of a notification of this method on. */
function tell(bytes: Buffer, wanted: string, hear: (message: string) => void): void {
  const message = tryParseJson(bytes.toString());
  const { method, params } = isObject(message) ? message : {};
  if (method !== wanted || !isObject(params)) return;
  if (typeof params['message'] === 'string') hear(params['message']);
}

/** The result of an answer. Throws the error of a failed one; its data has the code. */
function resultOf(answer: unknown): JsonObject {
  const { result, error } = isObject(answer) ? answer : {};
  if (isJsonObject(result)) return result;
  const { message, data } = isObject(error) ? error : {};
  const text = typeof message === 'string' ? message : 'the server gave no answer';
  throw new HubError('HUB_SERVER_PROTOCOL', text, { data: isObject(data) ? data : {} });
}
