import { isObject } from '#core';
import { type Edit, RpcError, encodeResult, rpcCodes } from '#rpc';
import type { Server } from '#servers';
import type { Call } from '../call.ts';
import type { MethodNeeds } from '../method.ts';
import { relay } from '../relay.ts';

/** A resource as its server knows it, and as the client does. */
export type Resource = {
  readonly server: Server;
  readonly uri: string;
  readonly publicUri: string;
};

/**
 * Subscribes a client with a session at a server. One of the stateless revision is not asked: the hub
 * listens there for all its clients, and has only to know that it can.
 */
export async function subscribeAt(
  call: Call,
  edits: readonly Edit[],
  { server, uri, publicUri }: Resource,
  needs: MethodNeeds,
): Promise<Buffer> {
  const { session } = call;
  const { subscriptions } = needs;
  using _ = subscriptions.claim(session);
  const { era, capabilities } = (server.running ?? (await server.ready())).introduction;
  if (era === 'legacy') {
    // An update may come right behind the answer. Who has left meanwhile would be told of it for ever.
    call.seen = ({ failed }, instance) => {
      if (!failed && !call.isCancelled) subscriptions.add(instance, uri, session, publicUri);
    };
    return await relay(call, edits, server, needs);
  }
  const { resources } = capabilities;
  if (isObject(resources) && resources['subscribe'] === true) {
    subscriptions.add(server, uri, session, publicUri);
    return encodeResult(call.id, '{}');
  }
  throw new RpcError(
    rpcCodes.methodNotFound,
    'HUB_REQUEST_INVALID',
    `${server.config.name} has no subscriptions to resources`,
  );
}
