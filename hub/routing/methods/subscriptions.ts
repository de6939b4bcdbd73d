import { HubError, isObject, messageOf } from '#core';
import { type Edit, encodeResult } from '#jsonrpc';
import { isStateless, keepsSessions } from '#mcp';
import type { Server } from '#servers';
import { whenReady, workerFor } from '../bridge/bridge.ts';
import {
  type Call,
  type ResolvedCall,
  FailedCall,
  callTo,
  hubReply,
  methodNotFound,
  ownCall,
} from '../call.ts';
import { instanceKeyOf } from '../client-identity.ts';
import { readFilter } from '../events/subscription-streams.ts';
import { type Endpoint, throwIfCancelled } from '../session.ts';
import { type Method, type MethodNeeds, own, serverOf } from './method.ts';

/** A resource with the server's URI and the client's URI, and the edits that put the server's URI into the request. */
export type Resource = {
  readonly server: Server;
  readonly uri: string;
  readonly publicUri: string;
  readonly edits: readonly Edit[];
};

const canSubscribe = ({ resources }: { readonly [name: string]: unknown }) =>
  isObject(resources) && resources['subscribe'] === true;

/**
 * Subscribes a client with a session at its instance. A stateless instance gets no request: the hub listens to it for
 * all its clients.
 */
export function subscribeAt(
  call: Call,
  { server, uri, publicUri, edits }: Resource,
  { clients, relay, subscriptions }: MethodNeeds,
): ResolvedCall {
  return ownCall(
    call,
    async () => {
      const { session } = call;
      using _ = subscriptions.claim(session, uri);
      const { worker, running } = await workerFor(server, call, clients);
      const { serverInfo } = running;
      if (keepsSessions(serverInfo)) {
        using asking = subscriptions.asking(worker, uri, session);
        const remembered = { kind: 'subscription', uri, publicUri } as const;
        try {
          return await relay(callTo(server, call, { edits, remembered }));
        } catch (error) {
          if (error instanceof FailedCall) asking.gaveUp();
          throw error;
        }
      }
      if (!canSubscribe(serverInfo.capabilities))
        throw methodNotFound(`${server.config.name} has no subscriptions to resources`);
      if (!call.cancellation.isCancelled) subscriptions.add(worker, uri, session, publicUri);
      return hubReply(encodeResult(call.id, '{}'));
    },
    server,
  );
}

/**
 * Unsubscribes a client at its instance. The hub forwards this to a server with sessions after the last subscriber
 * left. With `isServerTold` it also forwards it if there was no subscriber, so that the server refuses an unknown URI;
 * not for a client that may use nothing of the server.
 */
export function unsubscribeAt(
  call: Call,
  { server, uri, publicUri, edits }: Resource,
  isServerTold: boolean,
  { access, clients, relay, subscriptions }: MethodNeeds,
): ResolvedCall {
  return ownCall(
    call,
    async () => {
      const done = () => hubReply(encodeResult(call.id, '{}'));
      const known = subscriptions.find(call.session, publicUri);
      if (!known && !access.mayUseServer(call, server)) return done();
      // A server that was stopped or removed has no instance for the client.
      const worker = known?.server ?? clients.instanceFor(server, call);
      const wasLast = subscriptions.remove(worker, uri, call.session);
      const isUnknown =
        isServerTold &&
        !wasLast &&
        subscriptions.of(worker, uri).size === 0 &&
        !subscriptions.isAskedByOthers(worker, uri, call.session);
      // A stopped instance has lost its subscriptions.
      if (!isUnknown && !(wasLast && worker.running)) return done();
      const { serverInfo } = worker.running ?? (await whenReady(call, worker));
      return isStateless(serverInfo) ? done() : await relay(callTo(server, call, { edits }));
    },
    server,
  );
}

/**
 * Handles `subscriptions/listen`. The hub announces changes of all lists of an endpoint, also for servers that announce
 * none, and updates of resources whose servers support subscriptions.
 */
const listen = (
  find: (uri: string, call: Call, needs: MethodNeeds) => Omit<Resource, 'edits'> | undefined,
): Method =>
  own(async (call, needs) => {
    const { access, clients, streams, subscriptions } = needs;
    const filter = readFilter(call);
    const source = await sourceOf(call, needs);
    throwIfCancelled(call);
    const client = instanceKeyOf(call);
    const isOwn = (instance: Server) => clients.isOf(client, instance);
    const wanted = filter.uris
      .flatMap(uri => find(uri, call, needs) ?? [])
      .filter(({ server, uri }) => access.mayHear(call.principal, server, uri));
    // From here on a failure must close the stream.
    const opened = streams.open(call, source, filter, isOwn, subscriptions.removeAll);
    const uris: string[] = [];
    try {
      for (const { server: base, uri, publicUri } of wanted) {
        const server = clients.instanceFor(base, call);
        using _ = subscriptions.claim(opened.listen, uri);
        using asking = subscriptions.asking(server, uri, opened.listen);
        if (await isSubscribed(server, uri, needs, asking)) {
          uris.push(publicUri);
          subscriptions.add(server, uri, opened.listen, publicUri);
        }
        if (opened.isOpen()) continue;
        subscriptions.removeAll(opened.listen);
        break;
      }
    } catch (error) {
      // Closes the stream of a refused request.
      opened.listen.end();
      throw error;
    }
    opened.acknowledge({
      ...Object.fromEntries([...filter.lists].map(member => [member, true])),
      ...(filter.uris.length > 0 && { resourceSubscriptions: uris }),
      ...(filter.taskIds.length > 0 && { taskIds: filter.taskIds }),
    });
    return await opened.answer;
  });

/**
 * Returns the source of list changes for a client: its own instance, if it has one, else the endpoint. A client that
 * may use nothing of the server gets no instance.
 */
async function sourceOf(call: Call, { access, clients }: MethodNeeds): Promise<Endpoint> {
  const { endpoint } = call.session;
  if (endpoint === 'all' || endpoint.config.instance === 'shared') return endpoint;
  if (!access.mayUseServer(call, endpoint)) return endpoint;
  const instance = clients.instanceFor(endpoint, call);
  // Only a running instance announces changes.
  if (!instance.running) await whenReady(call, instance);
  return instance;
}

/**
 * Subscribes to the resource at the server, if necessary. False if the server does not support subscriptions, or is
 * late.
 */
async function isSubscribed(
  server: Server,
  uri: string,
  needs: MethodNeeds,
  asking: { gaveUp(): void },
): Promise<boolean> {
  try {
    const { serverInfo, upstream } = server.running ?? (await server.ready());
    if (!canSubscribe(serverInfo.capabilities)) return false;
    if (keepsSessions(serverInfo) && needs.subscriptions.of(server, uri).size === 0)
      await upstream.request('resources/subscribe', { uri }, server.config.callTimeoutMs);
    return true;
  } catch (error) {
    if (error instanceof HubError && error.code === 'HUB_CALL_TIMEOUT') asking.gaveUp();
    needs.log.debug({ server: server.config.name, uri, error: messageOf(error) }, 'not subscribed');
    return false;
  }
}

export const listenOne = listen((uri, call) => ({ server: serverOf(call), uri, publicUri: uri }));

export const listenAll = listen((publicUri, call, { clients }) => {
  const found = clients.offeringFor(call).catalog.findResource(publicUri);
  return found && { ...found, publicUri };
});
