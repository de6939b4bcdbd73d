import { type ConfirmedCall, callKey, hashOf } from '#approvals';
import { type Clock, setBounded } from '#core';
import { membersOf, rawText, readAnswer, stringAt, whole } from '#jsonrpc';
import type { Call, Reply } from '../call.ts';

/** Maximum number of approved calls whose client has to answer a question of the server. */
const maxContinued = 10_000;
/** Time for the client to answer, in ms. */
const continuedMs = 10 * 60_000;

/**
 * Remembers approved calls of stateless clients that their server answered with `input_required`. The request with the
 * answers is the same call, which nobody has to approve again. Each counts once.
 */
export function createContinuedCalls(clock: Pick<Clock, 'now'>) {
  /** The time of their end, in ms since the epoch. */
  const continued = new Map<string, number>();

  return {
    /** Remembers the call if the reply asks its client. */
    note(call: ConfirmedCall, reply: Reply): void {
      if (reply.outcome !== 'ok') return;
      const bytes = whole(reply.bytes);
      const { failed, payload } = readAnswer(bytes);
      const result = failed ? undefined : membersOf(bytes, payload);
      if (stringAt(bytes, result?.get('resultType')) !== 'input_required') return;
      const state = result?.get('requestState');
      const key = keyOf(call, state ? rawText(bytes, state) : '');
      setBounded(continued, key, clock.now() + continuedMs, maxContinued);
    },
    /** True if the request continues such a call, once. */
    take({ request, params }: Call, call: ConfirmedCall): boolean {
      if (!params.has('requestState') && !params.has('inputResponses')) return false;
      const state = params.get('requestState');
      const key = keyOf(call, state ? rawText(request.bytes, state) : '');
      const endsAt = continued.get(key);
      return continued.delete(key) && endsAt !== undefined && clock.now() < endsAt;
    },
  };
}

const keyOf = (call: ConfirmedCall, state: string): string =>
  hashOf(JSON.stringify([callKey(call), state]));
