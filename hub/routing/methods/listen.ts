import { isObject, messageOf } from '#core';
import type { Server } from '#servers';
import { keepsSessions } from '../bridge/eras.ts';
import type { Call } from '../call.ts';
import { throwIfCancelled, type Endpoint } from '../session.ts';
import { type Method, type MethodNeeds, own, serverOf } from './method.ts';
import { readFilter } from '../events/subscription-streams.ts';
import { whenReady } from '../bridge/ready.ts';
import { instanceKeyOf } from '../client-identity.ts';
import { instanceFor } from '../bridge/bridge.ts';

/** A resource that a client wants to listen to, with its server. */
type Wanted = { readonly server: Server; readonly uri: string; readonly publicUri: string };

/**
 * Handles `subscriptions/listen`. The hub announces changes of all lists of a endpoint, also for servers that announce
 * none, and updates of resources whose servers support subscriptions.
 */
const listen = (
  find: (uri: string, call: Call, needs: MethodNeeds) => Wanted | undefined,
): Method =>
  own(async (call, needs) => {
    const filter = readFilter(call);
    const source = await sourceOf(call, needs);
    throwIfCancelled(call);
    const client = instanceKeyOf(call);
    const isOwn = (instance: Server) => needs.statelessClients.isOf(client, instance);
    const opened = needs.streams.open(call, source, filter, isOwn, closed => {
      needs.subscriptions.removeAll(closed);
      if (filter.taskIds.length > 0) watchTasks(call.session.endpoint, needs);
    });
    const wanted = filter.uris.flatMap(uri => find(uri, call, needs) ?? []);
    const uris: string[] = [];
    try {
      for (const { server: base, uri, publicUri } of wanted) {
        const server = instanceFor(base, call, needs);
        using _ = needs.subscriptions.claim(opened.listen);
        if (await isSubscribed(server, uri, needs)) {
          uris.push(publicUri);
          needs.subscriptions.add(server, uri, opened.listen, publicUri);
        }
        if (opened.isOpen()) continue;
        needs.subscriptions.removeAll(opened.listen);
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
    if (filter.taskIds.length > 0) watchTasks(call.session.endpoint, needs);
    return await opened.answer;
  });

/** The source of a client's list changes: its own instance, if it has one, else the endpoint. */
async function sourceOf(call: Call, needs: MethodNeeds): Promise<Endpoint> {
  const { endpoint } = call.session;
  if (endpoint === 'all' || endpoint.config.instance === 'shared') return endpoint;
  const instance = instanceFor(endpoint, call, needs);
  // Only a running instance announces changes.
  if (!instance.running) await whenReady(call, instance);
  return instance;
}

/** Subscribes to the resource at the server, if necessary. False if the server does not support that. */
async function isSubscribed(server: Server, uri: string, needs: MethodNeeds): Promise<boolean> {
  try {
    const { serverInfo, upstream } = server.running ?? (await server.ready());
    const { resources } = serverInfo.capabilities;
    if (!isObject(resources) || resources['subscribe'] !== true) return false;
    if (keepsSessions(serverInfo) && needs.subscriptions.of(server, uri).size === 0)
      await upstream.request('resources/subscribe', { uri }, server.config.callTimeoutMs);
    return true;
  } catch (error) {
    needs.log.debug({ server: server.config.name, uri, error: messageOf(error) }, 'not subscribed');
    return false;
  }
}

function watchTasks(endpoint: Endpoint, needs: MethodNeeds): void {
  for (const server of endpoint === 'all' ? needs.servers.all : [endpoint]) {
    needs.watch(server);
    for (const instance of needs.servers.instances.list(server)) needs.watch(instance);
  }
}

export const listenOne: Method = listen((uri, call) => {
  return { server: serverOf(call), uri, publicUri: uri };
});

export const listenAll: Method = listen((publicUri, call, needs) => {
  const { catalog } = needs.ownOfferingOf(call) ?? needs;
  const found = catalog.findResource(publicUri);
  return found && { ...found, publicUri };
});
