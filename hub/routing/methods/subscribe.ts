import { isObject } from '#core';
import { type Edit, RpcError, encodeResult, rpcCodes } from '#rpc';
import type { Server } from '#servers';
import type { Call } from '../call.ts';
import type { MethodNeeds } from '../method.ts';
import { relay } from '../relay.ts';

/**
 * Subscribes a client with a session at a server. One of the stateless revision is not asked: the hub
 * listens there for all its clients, and has only to know that it can.
 */
export async function subscribeAt(
  call: Call,
  edits: readonly Edit[],
  server: Server,
  needs: MethodNeeds,
): Promise<Buffer> {
  const { era, capabilities } = (server.running ?? (await server.ready())).introduction;
  if (era === 'legacy') return await relay(call, edits, server, needs);
  const { resources } = capabilities;
  if (isObject(resources) && resources['subscribe'] === true) return encodeResult(call.id, '{}');
  throw new RpcError(
    rpcCodes.methodNotFound,
    'HUB_REQUEST_INVALID',
    `${server.config.name} has no subscriptions to resources`,
  );
}
