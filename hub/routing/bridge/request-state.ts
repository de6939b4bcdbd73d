import { createHash, createHmac } from 'node:crypto';
import type { Clock } from '#core';
import { rawText } from '#jsonrpc';
import { attemptParams, invalidState, requireMac } from '#mcp';
import { principalKey } from '#policy';
import type { Call } from '../call.ts';

type SuspendedState = {
  readonly id: string;
  /** Counts the answers to the call, so that each answer is used only once; 0 if no call is waiting. */
  readonly round: number;
  /** Number of visits to pages so far (URL elicitation). The call starts again after each visit. */
  readonly visits: number;
};

const shape = /^([\w-]{1,64})\.(\d{1,6})\.(\d{1,6})\.(\d{1,16})\.([\w-]{43})$/;

export type RequestStates = ReturnType<typeof createRequestStates>;

/**
 * Issues and verifies the hub's `requestState` values (MCP 2026-07-28, multi round-trip requests). Refuses values of
 * an earlier run, because their calls are lost.
 */
export function createRequestStates(
  key: Buffer,
  needs: { readonly clock: Pick<Clock, 'monotonic'> },
) {
  const sign = (body: string, call: Call) =>
    createHmac('sha256', key)
      .update(`${body}\n${digestOf(call)}`)
      .digest('base64url');

  return {
    /** Issues a state that is valid only for this request, for `lifeMs` milliseconds. */
    issue({ id, round, visits }: SuspendedState, call: Call, lifeMs: number): string {
      const body = `${id}.${round}.${visits}.${Math.ceil(needs.clock.monotonic() + lifeMs)}`;
      return `${body}.${sign(body, call)}`;
    },
    /** Returns the call id in a state, without verifying the state. */
    claimed: (text: string): string | undefined => shape.exec(text)?.[1],
    /** Throws HUB_STATE_INVALID if the hub did not issue the state for this request, or if the state has expired. */
    verify(text: string, call: Call): SuspendedState {
      const [, id = '', round = '', visits = '', expires = '', mac = ''] = shape.exec(text) ?? [];
      requireMac(mac, sign(`${id}.${round}.${visits}.${expires}`, call), 'this request');
      if (needs.clock.monotonic() > Number(expires)) throw invalidState('has expired');
      return { id, round: Number(round), visits: Number(visits) };
    },
  };
}

function digestOf({ request, params, session, principal }: Call): string {
  const hash = createHash('sha256');
  hash.update(`${principalKey(principal)}\n`);
  hash.update(session.endpoint === 'all' ? '' : session.endpoint.config.name);
  hash.update(`\n${request.method}\n`);
  for (const name of [...params.keys()].toSorted()) {
    const span = params.get(name);
    if (span && !attemptParams.has(name))
      hash.update(`${JSON.stringify(name)}:${rawText(request.bytes, span)}\n`);
  }
  return hash.digest('base64url');
}
