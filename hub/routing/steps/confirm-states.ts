import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Approval, type ConfirmedCall, callKey } from '#approvals';
import type { Clock } from '#core';
import { stringAt } from '#jsonrpc';
import { invalid } from '../bridge/request-state.ts';
import type { Call } from '../call.ts';

const shape = /^approval\.([0-9a-f]{1,32})\.(\d{1,16})\.([\w-]{43})$/;

/**
 * Issues and verifies the `requestState` of questions about calls that have to be approved (MCP 2026-07-28). A state counts
 * for one principal, tool and arguments. The approval of its id is used up once, so that a replay finds none.
 */
export function createConfirmStates(key: Buffer, clock: Pick<Clock, 'now'>) {
  const sign = (body: string, call: ConfirmedCall): string =>
    createHmac('sha256', key)
      .update(JSON.stringify([body, callKey(call)]))
      .digest('base64url');

  return {
    issue({ id, state, ...call }: Approval): string {
      const body = `${id}.${'expiresAt' in state ? state.expiresAt : 0}`;
      return `approval.${body}.${sign(body, call)}`;
    },
    /**
     * The id of the approval whose question a request answers; undefined if it answers none of the hub's. Throws
     * HUB_STATE_INVALID if the question was not asked about this call, or if its time is over.
     */
    read(call: Call, about: ConfirmedCall): string | undefined {
      const text = stringAt(call.request.bytes, call.params.get('requestState')) ?? '';
      const [found, id = '', expiresAt = '', mac = ''] = shape.exec(text) ?? [];
      if (found === undefined) return undefined;
      const is = Buffer.from(mac);
      const should = Buffer.from(sign(`${id}.${expiresAt}`, about));
      if (is.length !== should.length || !timingSafeEqual(is, should))
        throw invalid('was not issued by the hub for this call and its arguments');
      if (clock.now() >= Number(expiresAt)) throw invalid('has expired');
      return id;
    },
  };
}
