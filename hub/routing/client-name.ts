import { isObject } from '#core';
import { valueOf } from '#jsonrpc';
import { metaKeys } from '#mcp';
import type { Call } from './call.ts';

/** What the client of a call calls itself; undefined where it does not say. */
export function clientNameOf({ era, request, meta, session }: Call): string | undefined {
  const info: unknown =
    era === 'modern'
      ? valueOf(request.bytes, meta?.get(metaKeys.clientInfo))
      : session.client && JSON.parse(session.client.clientInfo);
  const name = isObject(info) ? info['name'] : undefined;
  return typeof name === 'string' ? name : undefined;
}
