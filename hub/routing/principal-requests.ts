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

/** Sends requests of an agent or a job of the hub, like a client. */
export interface PrincipalRequests {
  /** Sends a request. Resolves with its result, or rejects with HubError. */
  request(
    method: 'tools/list' | 'tools/call',
    params: JsonObject,
    signal: AbortSignal,
    options?: RequestOptions,
  ): Promise<JsonObject>;
  /** Cancels all open requests. */
  close(reason: string): void;
}

type RequestOptions = {
  /** The endpoint of the requests. Default: all servers. */
  readonly endpoint?: Endpoint;
  /** Called with the message of each progress notification. */
  readonly progress?: ((message: string) => void) | undefined;
  /** Called when a call waits for a person's approval. The message says what the person has to do. */
  readonly waiting?: (message: string) => void;
};

const progressToken = 1;

/**
 * Creates a sender of requests for a principal. Each request goes through the router in its own session: policy,
 * limits, breakers, audit log and activity apply as to any client.
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

/** Passes on the message of a notification, if the notification has the wanted method. */
function tell(bytes: Buffer, wanted: string, hear: (message: string) => void): void {
  const message = tryParseJson(bytes.toString());
  const { method, params } = isObject(message) ? message : {};
  if (method !== wanted || !isObject(params)) return;
  if (typeof params['message'] === 'string') hear(params['message']);
}

/** Returns the result in an answer. Throws HubError for an error answer, with the code from its data. */
function resultOf(answer: unknown): JsonObject {
  const { result, error } = isObject(answer) ? answer : {};
  if (isJsonObject(result)) return result;
  const { message, data } = isObject(error) ? error : {};
  const text = typeof message === 'string' ? message : 'the server gave no answer';
  throw new HubError('HUB_SERVER_PROTOCOL', text, { data: isObject(data) ? data : {} });
}
