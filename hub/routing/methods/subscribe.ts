import { isObject } from '#core';
import { type Edit, RpcError, encodeResult, rpcCodes } from '#rpc';
import type { Server } from '#servers';
import type { Call } from '../call.ts';
import type { MethodNeeds } from '../method.ts';
import { whenReady } from '../ready.ts';
import { instanceFor, relay, workerFor } from '../relay.ts';

/** A resource as its server knows it, and as the client does. */
export type Resource = {
  readonly server: Server;
  readonly uri: string;
  readonly publicUri: string;
};

/**
 * Subscribes a client with a session at the instance that works for it. An instance of the stateless revision is
 * not asked: the hub listens there for all clients of the instance, and checks only that it has subscriptions.
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
  const { worker, running } = await workerFor(server, call, needs);
  const { era, capabilities } = running.introduction;
  if (era === 'legacy') {
    // An update may come right behind the answer. Who has left meanwhile would be told of it for ever.
    call.seen = ({ failed }, instance) => {
      if (!failed && !call.isCancelled) subscriptions.add(instance, uri, session, publicUri);
    };
    return await relay(call, edits, server, needs);
  }
  const { resources } = capabilities;
  if (isObject(resources) && resources['subscribe'] === true) {
    if (!call.isCancelled) subscriptions.add(worker, uri, session, publicUri);
    return encodeResult(call.id, '{}');
  }
  throw new RpcError(
    rpcCodes.methodNotFound,
    'HUB_REQUEST_INVALID',
    `${server.config.name} has no subscriptions to resources`,
  );
}

/**
 * Unsubscribes a client at the instance that works for it. The server is told where nobody else is subscribed
 * there; with `toldAlways` also where nobody was, so that the server itself refuses a URI that it does not know.
 * A server of the stateless revision is not told: it has no such method.
 */
export async function unsubscribeAt(
  call: Call,
  edits: readonly Edit[],
  { server, uri }: Pick<Resource, 'server' | 'uri'>,
  toldAlways: boolean,
  needs: MethodNeeds,
): Promise<Buffer> {
  const { subscriptions } = needs;
  const worker = instanceFor(server, call, needs);
  const wasLast = subscriptions.remove(worker, uri, call.session);
  const isUnknown = toldAlways && !wasLast && subscriptions.of(worker, uri).size === 0;
  const done = () => encodeResult(call.id, '{}');
  // An instance that does not run has forgotten its subscriptions.
  if (!isUnknown && !(wasLast && worker.running)) return done();
  const { introduction } = worker.running ?? (await whenReady(call, worker));
  return introduction.era === 'modern' ? done() : await relay(call, edits, server, needs);
}
