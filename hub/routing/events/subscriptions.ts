import { type Log, HubError, messageOf } from '#core';
import { isStateless } from '#mcp';
import type { Principal } from '#policy';
import type { Server } from '#servers';
import type { Endpoint } from '../session.ts';

/** A subscriber to changes: a client's session, or one `subscriptions/listen` request. */
export interface Subscriber {
  readonly endpoint: Endpoint;
  readonly principal: Principal;
  /** Sends to the client. Must not throw, and must bound its buffer. */
  send(bytes: Buffer): void;
  isConnected(): boolean;
}

/** Maximum number of subscriptions per subscriber, so that a client cannot fill the hub's memory. */
const maxPerSubscriber = 1_000;
/** Maximum length of the URIs of one subscriber together, in characters. */
const maxCharacters = 256 * 1024;

type Topic = {
  readonly server: Server;
  readonly uri: string;
  /** Subscribers, each with its own URI of the resource. */
  readonly subscribers: Map<Subscriber, string>;
};

/** A request to subscribe that the server has not answered. */
type Asking = {
  readonly server: Server;
  readonly uri: string;
  readonly subscriber: Subscriber;
  /**
   * True if the server may have a subscription even if this request fails: another subscriber left, or the request was
   * abandoned.
   */
  mayBeSubscribed: boolean;
};

export type Subscriptions = ReturnType<typeof createSubscriptions>;

/** Keeps servers subscribed to the resources that have subscribers, also across restarts of a server. */
export function createSubscriptions(needs: {
  readonly log: Log;
  /** Returns the URI of a server's resource on the endpoint of all servers; undefined if that does not list it. */
  readonly publicUriOf: (server: Server, uri: string) => string | undefined;
  /** False if a principal may not get updates of a resource, given by the server's URI. Absent: all principals may. */
  readonly mayHear?: (principal: Principal, server: Server, uri: string) => boolean;
  /** Called when the set of URIs changes for a server to which the hub sends `subscriptions/listen`. */
  readonly changed: (server: Server) => void;
}) {
  const byServer = new Map<Server, Map<string, Topic>>();
  const bySubscriber = new Map<Subscriber, Set<Topic>>();
  /** Reserved subscriptions by subscriber, which count towards its limits. */
  const claims = new Map<Subscriber, Set<{ readonly uri: string }>>();
  /** `resources/subscribe` requests that their server has not answered. */
  const asking = new Set<Asking>();
  const none: ReadonlyMap<Subscriber, string> = new Map();

  const isModern = ({ running }: Server) => isStateless(running?.serverInfo);

  async function tell(server: Server, method: string, uri: string): Promise<void> {
    try {
      await server.running?.upstream.request(method, { uri }, server.config.callTimeoutMs);
    } catch (error) {
      const { name } = server.config;
      needs.log.warn({ server: name, uri, error: messageOf(error) }, `${method} was refused`);
    }
  }

  const topicOf = (server: Server, uri: string) => byServer.get(server)?.get(uri);

  /** Returns unanswered `resources/subscribe` requests of other subscribers for a resource. */
  const askedByOthers = (server: Server, uri: string, subscriber: Subscriber) =>
    [...asking].filter(
      one => one.server === server && one.uri === uri && one.subscriber !== subscriber,
    );

  /**
   * Removes a subscriber. True if the hub may unsubscribe at the server: there is no other subscriber, and no
   * unanswered request.
   */
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
    const others = askedByOthers(server, uri, subscriber);
    for (const one of others) one.mayBeSubscribed = true;
    return others.length === 0;
  }

  /** Removes a subscriber, and unsubscribes from resources without other subscribers. */
  function removeAll(subscriber: Subscriber): void {
    for (const topic of Array.from(bySubscriber.get(subscriber) ?? [])) {
      const { server, uri } = topic;
      if (leave(topic, subscriber) && !isModern(server))
        void tell(server, 'resources/unsubscribe', uri);
    }
  }

  /** Returns those of the subscribers that may get updates of a resource of a server. */
  const permitted = (concerned: ReadonlyMap<Subscriber, string>, server: Server, uri: string) =>
    new Map(
      [...concerned].filter(([{ principal }]) => needs.mayHear?.(principal, server, uri) ?? true),
    );

  const subscribersOf = (server: Server, uri: string): ReadonlyMap<Subscriber, string> =>
    topicOf(server, uri)?.subscribers ?? none;

  const listOf = (subscriber: Subscriber) =>
    Array.from(bySubscriber.get(subscriber) ?? [], ({ server, uri, subscribers }) => ({
      server,
      uri,
      publicUri: subscribers.get(subscriber) ?? uri,
    }));

  /**
   * Adds a subscription. `publicUri` is the subscriber's URI for the resource. If `isServerTold` is false, the hub
   * subscribes at the server, unless another subscriber already exists. At a stopped server, the hub subscribes when
   * it starts.
   */
  function add(
    server: Server,
    uri: string,
    subscriber: Subscriber,
    publicUri: string,
    isServerTold = true,
  ): void {
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
  }

  return {
    /** Reserves a subscription until disposed, while the server answers. Throws HUB_SUBSCRIPTIONS_FULL. */
    claim(subscriber: Subscriber, uri: string): Disposable {
      const claimed = claims.get(subscriber) ?? new Set();
      const taken = [...claimed, ...(bySubscriber.get(subscriber) ?? [])];
      if (taken.length >= maxPerSubscriber)
        throw new HubError(
          'HUB_SUBSCRIPTIONS_FULL',
          `this session is subscribed to ${maxPerSubscriber} resources, which is the most. Unsubscribe from some, or open another session`,
        );
      const left = taken.reduce((sum, other) => sum - other.uri.length, maxCharacters);
      if (uri.length > left)
        throw new HubError(
          'HUB_SUBSCRIPTIONS_FULL',
          `"params.uri" has ${uri.length} characters, and this session could subscribe to ${Math.max(left, 0)} more: the most is ${maxCharacters}. Unsubscribe from some resources, or open another session`,
        );
      const one = { uri };
      claims.set(subscriber, claimed.add(one));
      return {
        [Symbol.dispose]() {
          claimed.delete(one);
          if (claimed.size === 0) claims.delete(subscriber);
        },
      };
    },
    /**
     * Registers an unanswered request to subscribe. Dispose it when the server has answered; call `gaveUp` first if
     * the request was sent and no answer will come.
     */
    asking(server: Server, uri: string, subscriber: Subscriber): Disposable & { gaveUp(): void } {
      const one: Asking = { server, uri, subscriber, mayBeSubscribed: false };
      asking.add(one);
      return {
        gaveUp: () => void (one.mayBeSubscribed = true),
        [Symbol.dispose]() {
          asking.delete(one);
          if (!one.mayBeSubscribed || subscribersOf(server, uri).size > 0) return;
          const others = [...asking].filter(other => other.server === server && other.uri === uri);
          for (const other of others) other.mayBeSubscribed = true;
          if (others.length === 0 && !isModern(server))
            void tell(server, 'resources/unsubscribe', uri);
        },
      };
    },
    /** True if another subscriber has an unanswered request for the resource. */
    isAskedByOthers: (server: Server, uri: string, subscriber: Subscriber): boolean =>
      askedByOthers(server, uri, subscriber).length > 0,
    add,
    /**
     * Moves the subscriptions of removed servers to the new server of the same name, which is subscribed to when it
     * runs.
     */
    takeOver(server: Server, isBase: (other: Server) => boolean): void {
      const { name } = server.config;
      const former = [...byServer].filter(
        ([other]) => other !== server && other.config.name === name && isBase(other),
      );
      for (const topic of former.flatMap(([, topics]) => [...topics.values()]))
        for (const [subscriber, publicUri] of Array.from(topic.subscribers)) {
          leave(topic, subscriber);
          add(server, topic.uri, subscriber, publicUri);
        }
    },
    listOf,
    /**
     * Finds the subscription by the subscriber's URI, even if its server is stopped, was removed or no longer lists
     * it.
     */
    find: (subscriber: Subscriber, publicUri: string) =>
      listOf(subscriber).find(one => one.publicUri === publicUri),
    /** Removes a subscription. True if it was the last one for the resource: the hub may unsubscribe at the server. */
    remove(server: Server, uri: string, subscriber: Subscriber): boolean {
      const topic = topicOf(server, uri);
      return topic !== undefined && leave(topic, subscriber);
    },
    of: subscribersOf,
    /**
     * Returns the subscribers to notify of an updated resource, each with its own URI of the resource: subscribers to
     * the resource, and to a resource that contains it (MCP, resources: a server may send updates for sub-resources).
     */
    concernedBy(server: Server, uri: string): ReadonlyMap<Subscriber, string> {
      const exact = subscribersOf(server, uri);
      const topics = byServer.get(server);
      const lengths = new Set(Array.from(topics?.keys() ?? [], ({ length }) => length));
      const parents = wholesOf(uri, lengths).flatMap(whole => topics?.get(whole) ?? []);
      if (parents.length === 0) return permitted(exact, server, uri);
      const listed = needs.publicUriOf(server, uri);
      const concerned = new Map<Subscriber, string>();
      for (const { uri: whole, subscribers } of parents)
        for (const [subscriber, publicUri] of subscribers) {
          const known = subscriber.endpoint === 'all' ? listed : uri;
          concerned.set(subscriber, known ?? `${publicUri}${uri.slice(whole.length)}`);
        }
      // A subscriber to the resource itself gets the URI that it subscribed to.
      for (const [subscriber, publicUri] of exact) concerned.set(subscriber, publicUri);
      return permitted(concerned, server, uri);
    },
    urisOf: (server: Server): readonly string[] => [...(byServer.get(server)?.keys() ?? [])],
    /** True if a connected client is subscribed to a resource of the server. */
    isHeard: (server: Server): boolean =>
      [...(byServer.get(server)?.values() ?? [])].some(({ subscribers }) =>
        [...subscribers.keys()].some(subscriber => subscriber.isConnected()),
      ),
    renew(server: Server): void {
      if (isModern(server)) needs.changed(server);
      else
        for (const uri of byServer.get(server)?.keys() ?? [])
          void tell(server, 'resources/subscribe', uri);
    },
    removeAll,
  };
}

/** Maximum length in characters of a URI that counts as a sub-resource. */
const maxPartLength = 2_048;

/**
 * Returns the URIs of resources that may contain a resource, the shortest first: `x://a` and `x://a/` of `x://a/part`.
 * Returns only URIs of these `lengths`: the total size of all would be quadratic in the length of the URI.
 */
function wholesOf(uri: string, lengths: ReadonlySet<number>): readonly string[] {
  if (uri.length > maxPartLength) return [];
  const wholes: string[] = [];
  for (const { index } of uri.matchAll(/[/?#]/g)) {
    if (lengths.has(index)) wholes.push(uri.slice(0, index));
    if (uri[index] === '/' && index + 1 < uri.length && lengths.has(index + 1))
      wholes.push(uri.slice(0, index + 1));
  }
  return wholes;
}
