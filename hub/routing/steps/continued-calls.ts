import { type ConfirmedCall, callKey, hashOf } from '#approvals';
import { type Clock, setBounded } from '#core';
import { membersOf, readAnswer, stringAt, whole } from '#jsonrpc';
import type { Call, Reply } from '../call.ts';

/** Maximum number of approved calls that wait for their client to answer a question of the server. */
const maxContinued = 10_000;
/** Time for the client to answer, in ms. */
const continuedMs = 10 * 60_000;

/**
 * Remembers approved calls of stateless clients that their server answered with `input_required`. The client's next
 * request, with the answers, continues the same call and needs no second approval. Each remembered call is used once.
 */
export function createContinuedCalls(clock: Pick<Clock, 'now'>) {
  /** Expiry times of remembered calls, in ms since the epoch. */
  const continued = new Map<string, number>();

  return {
    /** Remembers the call if the reply is `input_required`. */
    note(call: ConfirmedCall, reply: Reply): void {
      if (reply.outcome !== 'ok') return;
      const bytes = whole(reply.bytes);
      const { failed, payload } = readAnswer(bytes);
      const result = failed ? undefined : membersOf(bytes, payload);
      if (stringAt(bytes, result?.get('resultType')) !== 'input_required') return;
      const key = keyOf(call, stringAt(bytes, result?.get('requestState')));
      setBounded(continued, key, clock.now() + continuedMs, maxContinued);
    },
    /** True if the request continues a remembered call, which is then forgotten. */
    take({ request, params }: Call, call: ConfirmedCall): boolean {
      if (!params.has('requestState') && !params.has('inputResponses')) return false;
      const key = keyOf(call, stringAt(request.bytes, params.get('requestState')));
      const endsAt = continued.get(key);
      return continued.delete(key) && endsAt !== undefined && clock.now() < endsAt;
    },
  };
}

/** Uses the decoded state: clients may encode the same string in JSON in another way than the server. */
const keyOf = (call: ConfirmedCall, state: string | undefined): string =>
  hashOf(JSON.stringify([callKey(call), state]));
