import { createHash } from 'node:crypto';
import { isObject } from '#core';
import { metaKeys, valueOf } from '#rpc';
import type { Call } from './call.ts';

/**
 * On whose behalf a request is made. The hub has one principal: whoever may call at all. Named principals belong
 * into this function, and nowhere else.
 */
const principalOf = (_call: Call): string => 'hub';

/** A longer identity is kept as its digest. */
const maxLength = 256;

/**
 * Identifies the client of a stateless request: the principal, and the name and version in its `clientInfo`.
 * Two programs that give themselves one name and version are one client here. Undefined where the request
 * names no client.
 */
export function clientIdentityOf(call: Call): string | undefined {
  const { request, meta } = call;
  const info = valueOf(request.bytes, meta?.get(metaKeys.clientInfo));
  const { name, version } = isObject(info) ? info : {};
  if (typeof name !== 'string' || name === '') return undefined;
  const identity = JSON.stringify([principalOf(call), name, version]);
  return identity.length > maxLength
    ? createHash('sha256').update(identity).digest('hex')
    : identity;
}

/** What the instances of a client without a session are kept by. */
export const instanceKeyOf = (call: Call): string => clientIdentityOf(call) ?? 'unnamed';
