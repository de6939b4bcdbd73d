import { isObject } from '#core';
import { valueOf } from '#jsonrpc';
import { metaKeys } from '#mcp';
import { isStateless } from './bridge/eras.ts';
import type { Call } from './call.ts';

/** The name of a call's client; undefined if the client gave none. */
export function clientNameOf(call: Call): string | undefined {
  const { request, meta, session } = call;
  const info: unknown = isStateless(call)
    ? valueOf(request.bytes, meta?.get(metaKeys.clientInfo))
    : session.client && JSON.parse(session.client.clientInfo);
  const name = isObject(info) ? info['name'] : undefined;
  return typeof name === 'string' ? name : undefined;
}
