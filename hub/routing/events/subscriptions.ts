import { type Log, HubError, messageOf } from '#core';
import type { Server } from '#servers';
import { isStateless } from '../bridge/eras.ts';
import type { View } from '../session.ts';

/** Who wants to know of changes: a client's session, or one request to listen. */
export interface Subscriber {
  readonly view: View;
  /** To the client. Must not throw, and must bound what it keeps. */
  outlet(bytes: Buffer): void;
  /** Whether anybody is there. */
  isConnected(): boolean;
}

/** Who wants to know of changes to which resource of which server. */
export interface Subscriptions {
  /**
   * Room for one more subscription of the subscriber while its server is asked, until disposed. Throws
   * HUB_SUBSCRIPTIONS_FULL where there is none.
   */
  claim(subscriber: Subscriber): Disposable;
  /**
   * `publicUri` is what the subscriber calls the resource. With `isServerTold` false the server is asked to send
   * updates, unless somebody is subscribed already; one that does not run is asked when it does.
   */
  add(
    server: Server,
    uri: string,
    subscriber: Subscriber,
    publicUri: string,
    isServerTold?: boolean,
  ): void;
  /** The subscriptions of a subscriber. */
  listOf(
    subscriber: Subscriber,
  ): readonly { readonly server: Server; readonly uri: string; readonly publicUri: string }[];
  /** True where the subscriber was the last to want it, so that the server may be told. */
  remove(server: Server, uri: string, subscriber: Subscriber): boolean;
  of(server: Server, uri: string): ReadonlyMap<Subscriber, string>;
  /**
   * Who is to be told that a resource was updated, and under which URI: those that subscribed to it, and
   * to one that it is a part of (MCP, resources: a server may tell of sub-resources).
   */
  concernedBy(server: Server, uri: string): ReadonlyMap<Subscriber, string>;
  /** The URIs of a server that anybody wants to hear of. */
  urisOf(server: Server): readonly string[];
  /** Whether anybody who is there wants to hear of a resource of the server. */
  isHeard(server: Server): boolean;
  /** Subscribes anew at a server that has been started again. */
  renew(server: Server): void;
  /** Forgets a subscriber, and unsubscribes what nobody else wants. */
  removeAll(subscriber: Subscriber): void;
}

/** More for one subscriber are refused: a client may not fill the hub's memory. */
const maxPerSubscriber = 1_000;

/** A resource that somebody wants to hear of. */
type Topic = {
  readonly server: Server;
  readonly uri: string;
  /** With the URI under which each of them knows it. */
  readonly subscribers: Map<Subscriber, string>;
};

export type SubscriptionsNeeds = {
  readonly log: Log;
  /** Under which URI the endpoint of all servers lists a resource of one; undefined where it does not. */
  readonly publicUriOf: (server: Server, uri: string) => string | undefined;
  /** Called when a server that listens by itself has another set of URIs to listen for. */
  readonly changed: (server: Server) => void;
};

/** Keeps the server subscribed while anybody is, also over its restarts. */
export function createSubscriptions(needs: SubscriptionsNeeds): Subscriptions {
  const byServer = new Map<Server, Map<string, Topic>>();
  const bySubscriber = new Map<Subscriber, Set<Topic>>();
  const claims = new Map<Subscriber, number>();
  const none: ReadonlyMap<Subscriber, string> = new Map();

  const isModern = ({ running }: Server) => isStateless(running?.introduction);

  async function tell(server: Server, method: string, uri: string): Promise<void> {
    try {
      await server.running?.upstream.request(method, { uri }, server.config.callTimeoutMs);
    } catch (error) {
      const { name } = server.config;
      needs.log.warn({ server: name, uri, error: messageOf(error) }, `${method} was refused`);
    }
  }

  const topicOf = (server: Server, uri: string) => byServer.get(server)?.get(uri);

  /** True where nobody wants the topic any more. */
  function leave(topic: Topic, subscriber: Subscriber): boolean {
    const { server, uri, subscribers } = topic;
    if (!subscribers.delete(subscriber)) return false;
    const topics = bySubscriber.get(subscriber);
    topics?.delete(topic);
    if (topics?.size === 0) bySubscriber.delete(subscriber);
    if (subscribers.size > 0) return false;
    const uris = byServer.get(server);
    uris?.delete(uri);
    if (uris?.size === 0) byServer.delete(server);
    if (isModern(server)) needs.changed(server);
    return true;
  }

  return {
    claim(subscriber) {
      const claimed = claims.get(subscriber) ?? 0;
      if ((bySubscriber.get(subscriber)?.size ?? 0) + claimed >= maxPerSubscriber)
        throw new HubError(
          'HUB_SUBSCRIPTIONS_FULL',
          `this session is subscribed to ${maxPerSubscriber} resources, which is the most. Unsubscribe from some, or open another session`,
        );
      claims.set(subscriber, claimed + 1);
      return {
        [Symbol.dispose]() {
          const left = (claims.get(subscriber) ?? 0) - 1;
          if (left > 0) claims.set(subscriber, left);
          else claims.delete(subscriber);
        },
      };
    },
    add(server, uri, subscriber, publicUri, isServerTold = true) {
      const uris = byServer.get(server) ?? new Map<string, Topic>();
      byServer.set(server, uris);
      const known = uris.get(uri);
      const topic: Topic = known ?? { server, uri, subscribers: new Map() };
      uris.set(uri, topic);
      topic.subscribers.set(subscriber, publicUri);
      const topics = bySubscriber.get(subscriber) ?? new Set<Topic>();
      bySubscriber.set(subscriber, topics.add(topic));
      if (known) return;
      if (isModern(server)) needs.changed(server);
      else if (!isServerTold) void tell(server, 'resources/subscribe', uri);
    },
    listOf: subscriber =>
      Array.from(bySubscriber.get(subscriber) ?? [], ({ server, uri, subscribers }) => ({
        server,
        uri,
        publicUri: subscribers.get(subscriber) ?? uri,
      })),
    remove(server, uri, subscriber) {
      const topic = topicOf(server, uri);
      return topic !== undefined && leave(topic, subscriber);
    },
    of: (server, uri) => topicOf(server, uri)?.subscribers ?? none,
    concernedBy(server, uri) {
      const exact = topicOf(server, uri)?.subscribers ?? none;
      const topics = byServer.get(server);
      const parents = topics ? wholesOf(uri).flatMap(whole => topics.get(whole) ?? []) : [];
      if (parents.length === 0) return exact;
      const listed = needs.publicUriOf(server, uri);
      const concerned = new Map<Subscriber, string>();
      for (const { uri: whole, subscribers } of parents)
        for (const [subscriber, publicUri] of subscribers)
          concerned.set(
            subscriber,
            (subscriber.view === 'all' ? listed : uri) ?? `${publicUri}${uri.slice(whole.length)}`,
          );
      // Who subscribed to the resource itself knows it by that name.
      for (const [subscriber, publicUri] of exact) concerned.set(subscriber, publicUri);
      return concerned;
    },
    urisOf: server => [...(byServer.get(server)?.keys() ?? [])],
    isHeard: server =>
      [...(byServer.get(server)?.values() ?? [])].some(({ subscribers }) =>
        [...subscribers.keys()].some(subscriber => subscriber.isConnected()),
      ),
    renew(server) {
      if (isModern(server)) needs.changed(server);
      else
        for (const uri of byServer.get(server)?.keys() ?? [])
          void tell(server, 'resources/subscribe', uri);
    },
    removeAll(subscriber) {
      for (const topic of Array.from(bySubscriber.get(subscriber) ?? [])) {
        const { server, uri } = topic;
        if (leave(topic, subscriber) && !isModern(server))
          void tell(server, 'resources/unsubscribe', uri);
      }
    },
  };
}

/** A longer URI is a part of no other: to look for its wholes would take the time of its length squared. */
const maxPartLength = 2_048;

/** The URIs that a resource may be a part of, the shortest first: `x://a/` and `x://a` of `x://a/part`. */
function wholesOf(uri: string): readonly string[] {
  if (uri.length > maxPartLength) return [];
  const wholes: string[] = [];
  for (const { index } of uri.matchAll(/[/?#]/g)) {
    wholes.push(uri.slice(0, index));
    if (uri[index] === '/' && index + 1 < uri.length) wholes.push(uri.slice(0, index + 1));
  }
  return wholes;
}
