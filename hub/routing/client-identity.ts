import { createHash } from 'node:crypto';
import { isObject } from '#core';
import { valueOf } from '#jsonrpc';
import { metaKeys } from '#mcp';
import { principalKey } from '#policy';
import { isStateless } from './bridge/eras.ts';
import type { Call } from './call.ts';

/** Maximum length of an identity. A longer identity is replaced by its digest. */
const maxLength = 256;

/**
 * Identifies the client of a stateless request by the principal, and the name and version in its `clientInfo`. Two
 * programs with the same name and version count as one client. Undefined if the request names no client.
 */
export function clientIdentityOf(call: Call): string | undefined {
  const { request, meta, principal } = call;
  const info = valueOf(request.bytes, meta?.get(metaKeys.clientInfo));
  const { name, version } = isObject(info) ? info : {};
  if (typeof name !== 'string' || name === '') return undefined;
  const identity = JSON.stringify([principalKey(principal), name, version]);
  return identity.length > maxLength
    ? createHash('sha256').update(identity).digest('hex')
    : identity;
}

/** The key for the instances of a client without a session. */
export const instanceKeyOf = (call: Call): string =>
  clientIdentityOf(call) ?? principalKey(call.principal);

/** The name of a call's client; undefined if the client gave none. */
export function clientNameOf(call: Call): string | undefined {
  const { request, meta, session } = call;
  const info: unknown = isStateless(call)
    ? valueOf(request.bytes, meta?.get(metaKeys.clientInfo))
    : session.client && JSON.parse(session.client.clientInfo);
  const name = isObject(info) ? info['name'] : undefined;
  return typeof name === 'string' ? name : undefined;
}
