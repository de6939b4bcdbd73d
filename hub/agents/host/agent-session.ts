import { HubError, type JsonObject, isObject, tryParseJson } from '#core';
import { readMessage, whole } from '#jsonrpc';
import type { Principal } from '#policy';
import type { Router } from '#routing';
import type { AgentSession } from './host-types.ts';

/**
 * Sends requests of an agent through the router as its own principal, where grants, policy, limits, the audit log and the
 * activity apply as to any client.
 */
export function createAgentSession(
  id: string,
  router: Pick<Router, 'openSessionless'>,
): AgentSession {
  const principal: Principal = { kind: 'agent', name: id, grants: { administer: false } };
  const open = new Set<ReturnType<Router['openSessionless']>>();
  let last = 0;
  return {
    async request(method, params, signal) {
      const text = JSON.stringify({ jsonrpc: '2.0', id: ++last, method, params });
      const request = readMessage(Buffer.from(text));
      if (request.kind !== 'request') throw new TypeError('it is a request');
      signal.throwIfAborted();
      const session = router.openSessionless('all', principal);
      open.add(session);
      const end = () => session.close('the agent no longer waits for it');
      signal.addEventListener('abort', end);
      try {
        const reply = await session.accept(request, { send() {} }, principal);
        if (!reply) throw new HubError('HUB_CALL_CANCELLED', 'the request was cancelled');
        return resultOf(tryParseJson(whole(reply).toString()));
      } finally {
        signal.removeEventListener('abort', end);
        open.delete(session);
        session.close('the request is over');
      }
    },
    close() {
      for (const session of open) session.close('the agent has ended');
    },
  };
}

/** The result of an answer. Throws the error of a failed one, with its message for the model. */
function resultOf(answer: unknown): JsonObject {
  const { result, error } = isObject(answer) ? answer : {};
  if (isJsonObject(result)) return result;
  const { message, data } = isObject(error) ? error : {};
  const text = typeof message === 'string' ? message : 'the server gave no answer';
  throw new HubError('HUB_SERVER_PROTOCOL', text, { data: isObject(data) ? data : {} });
}

/** It comes from parsed JSON. */
const isJsonObject = (value: unknown): value is JsonObject => isObject(value);
