import { createHmac } from 'node:crypto';
import { type Approval, type ConfirmedCall, callKey } from '#approvals';
import type { Clock } from '#core';
import { stringAt } from '#jsonrpc';
import { invalidState, requireMac } from '#mcp';
import type { Call } from '../call.ts';

const shape = /^approval\.([0-9a-f]{1,32})\.(\d{1,16})\.([\w-]{43})$/;

/**
 * Issues and verifies the `requestState` of questions about calls that need an approval (MCP 2026-07-28). A state is
 * valid for one principal, tool and arguments. Its approval can be used only once, so that a replay is refused.
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
     * Returns the id of the approval whose question the request answers; undefined if it answers no question of the
     * hub. Throws HUB_STATE_INVALID if the question was about another call, or if it has expired.
     */
    read(call: Call, about: ConfirmedCall): string | undefined {
      const text = stringAt(call.request.bytes, call.params.get('requestState')) ?? '';
      const [found, id = '', expiresAt = '', mac = ''] = shape.exec(text) ?? [];
      if (found === undefined) return undefined;
      requireMac(mac, sign(`${id}.${expiresAt}`, about), 'this call and its arguments');
      if (clock.now() >= Number(expiresAt)) throw invalidState('has expired');
      return id;
    },
  };
}
