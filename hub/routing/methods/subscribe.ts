import { isObject } from '#core';
import { type Edit, RpcError, encodeResult, rpcCodes } from '#jsonrpc';
import type { Server } from '#servers';
import { isStateless, keepsSessions } from '../bridge/eras.ts';
import { type Call, type ResolvedCall, callTo, ownCall, type Reply, hubReply } from '../call.ts';
import type { MethodNeeds } from './method.ts';
import { whenReady } from '../bridge/ready.ts';
import { instanceFor, workerFor } from '../bridge/bridge.ts';

/** A resource with the server's URI and the client's URI. */
export type Resource = {
  readonly server: Server;
  readonly uri: string;
  readonly publicUri: string;
};

/**
 * Subscribes a client with a session at the instance that serves it. A stateless instance is not asked: the hub
 * listens there for all clients of the instance, and only checks that the instance supports subscriptions.
 */
export const subscribeAt = (
  call: Call,
  edits: readonly Edit[],
  resource: Resource,
  needs: MethodNeeds,
): ResolvedCall =>
  ownCall(call, traced => subscribe(traced, edits, resource, needs), resource.server);

async function subscribe(
  call: Call,
  edits: readonly Edit[],
  { server, uri, publicUri }: Resource,
  needs: MethodNeeds,
): Promise<Reply> {
  const { session } = call;
  const { subscriptions } = needs;
  using _ = subscriptions.claim(session);
  const { worker, running } = await workerFor(server, call, needs);
  const { serverInfo } = running;
  if (keepsSessions(serverInfo)) {
    const remembered = { kind: 'subscription', uri, publicUri } as const;
    return await needs.relay(callTo(server, call, edits, undefined, remembered));
  }
  const { resources } = serverInfo.capabilities;
  if (isObject(resources) && resources['subscribe'] === true) {
    if (!call.cancellation.isCancelled) subscriptions.add(worker, uri, session, publicUri);
    return hubReply(encodeResult(call.id, '{}'));
  }
  throw new RpcError(
    rpcCodes.methodNotFound,
    'HUB_REQUEST_INVALID',
    `${server.config.name} has no subscriptions to resources`,
  );
}

/**
 * Unsubscribes a client at the instance that serves it. The server is told if this was the last subscriber there.
 * With `toldAlways`, the server is also told if there was no subscriber, so that the server itself refuses an unknown
 * URI. A stateless server is not told, because it has no such method.
 */
export const unsubscribeAt = (
  call: Call,
  edits: readonly Edit[],
  resource: Pick<Resource, 'server' | 'uri'>,
  isServerTold: boolean,
  needs: MethodNeeds,
): ResolvedCall =>
  ownCall(
    call,
    traced => unsubscribe(traced, edits, resource, isServerTold, needs),
    resource.server,
  );

async function unsubscribe(
  call: Call,
  edits: readonly Edit[],
  { server, uri }: Pick<Resource, 'server' | 'uri'>,
  isServerTold: boolean,
  needs: MethodNeeds,
): Promise<Reply> {
  const { subscriptions } = needs;
  const worker = instanceFor(server, call, needs);
  const wasLast = subscriptions.remove(worker, uri, call.session);
  const isUnknown = isServerTold && !wasLast && subscriptions.of(worker, uri).size === 0;
  const done = () => hubReply(encodeResult(call.id, '{}'));
  // A stopped instance has lost its subscriptions.
  if (!isUnknown && !(wasLast && worker.running)) return done();
  const { serverInfo } = worker.running ?? (await whenReady(call, worker));
  return isStateless(serverInfo) ? done() : await needs.relay(callTo(server, call, edits));
}
