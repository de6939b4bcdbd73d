import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { type Clock, HubError } from '#core';
import { rawText } from '#jsonrpc';
import { principalKey } from '#policy';
import type { Call } from '../call.ts';

/** What a `requestState` of the hub stands for. */
export type State = {
  /** The suspended call. */
  readonly id: string;
  /** Counts the answers to it, so that none is gone on from twice; 0 where no call waits. */
  readonly round: number;
  /** How often the client was sent to pages, after which its call begins anew. */
  readonly visits: number;
};

/** Makes and reads the hub's own `requestState` (MCP 2026-07-28, multi round-trip requests). */
export interface RequestStates {
  /** Binds the state to the request: it is good for no other. `lifeMs`: how long it is good for. */
  issue(state: State, call: Call, lifeMs: number): string;
  /** The call that a state is said to be of, which is not verified. */
  claimed(text: string): string | undefined;
  /** Throws HUB_STATE_INVALID where it is not what the hub gave out for this request, or too old. */
  verify(text: string, call: Call): State;
}

const shape = /^([\w-]{1,64})\.(\d{1,6})\.(\d{1,6})\.(\d{1,16})\.([\w-]{43})$/;

/** `key` authenticates the states: those of another run of the hub are refused, as its calls are gone. */
export function createRequestStates(
  key: Buffer,
  needs: { readonly clock: Pick<Clock, 'monotonic'> },
): RequestStates {
  const sign = (body: string, call: Call) =>
    createHmac('sha256', key)
      .update(`${body}\n${digestOf(call)}`)
      .digest('base64url');

  return {
    issue({ id, round, visits }, call, lifeMs) {
      const body = `${id}.${round}.${visits}.${Math.ceil(needs.clock.monotonic() + lifeMs)}`;
      return `${body}.${sign(body, call)}`;
    },
    claimed: text => shape.exec(text)?.[1],
    verify(text, call) {
      const [, id = '', round = '', visits = '', expires = '', mac = ''] = shape.exec(text) ?? [];
      const body = `${id}.${round}.${visits}.${expires}`;
      const should = Buffer.from(sign(body, call));
      const is = Buffer.from(mac);
      if (is.length !== should.length || !timingSafeEqual(is, should))
        throw invalid('is not what the hub gave out for this request');
      if (needs.clock.monotonic() > Number(expires)) throw invalid('has expired');
      return { id, round: Number(round), visits: Number(visits) };
    },
  };
}

/** A refusal that says what to do: there is but one way on. */
export const invalid = (why: string): HubError =>
  new HubError(
    'HUB_STATE_INVALID',
    `"params.requestState" ${why}. Send the request again without it`,
  );

/** Members that differ between the tries of one request. */
const changing = new Set(['_meta', 'inputResponses', 'requestState']);

/** Who sends a request, and what it asks for: its endpoint, its method and its parameters. */
function digestOf({ request, params, session, principal }: Call): string {
  const hash = createHash('sha256');
  hash.update(`${principalKey(principal)}\n`);
  hash.update(session.view === 'all' ? '' : session.view.config.name);
  hash.update(`\n${request.method}\n`);
  for (const name of [...params.keys()].toSorted()) {
    const span = params.get(name);
    if (span && !changing.has(name))
      hash.update(`${JSON.stringify(name)}:${rawText(request.bytes, span)}\n`);
  }
  return hash.digest('base64url');
}
