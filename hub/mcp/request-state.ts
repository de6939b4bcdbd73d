import { timingSafeEqual } from 'node:crypto';
import { HubError } from '#core';

/** Params that differ between the attempts of one request (MCP 2026-07-28, multi round-trip requests). */
export const attemptParams: ReadonlySet<string> = new Set([
  '_meta',
  'inputResponses',
  'requestState',
]);

/** Returns the error for an invalid `requestState`. It tells the client how to recover. */
export const invalidState = (why: string): HubError =>
  new HubError(
    'HUB_STATE_INVALID',
    `"params.requestState" ${why}. Send the request again without it`,
  );

/** Throws HUB_STATE_INVALID if the MAC in a `requestState` is not the expected one. `of`: the signed request. */
export function requireMac(mac: string, expected: string, of: string): void {
  const [is, should] = [Buffer.from(mac), Buffer.from(expected)];
  if (is.length !== should.length || !timingSafeEqual(is, should))
    throw invalidState(`was not issued by the hub for ${of}`);
}
