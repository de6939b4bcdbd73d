import { type Log, HubError, messageOf } from '#core';
import type { Server, Servers } from '#servers';
import type { SessionState } from './session.ts';

/** Which sessions want to know of changes to which resource of which server. */
export interface Subscriptions {
  /**
   * Room for one more subscription of the session while its server is asked, until disposed. Throws
   * HUB_SUBSCRIPTIONS_FULL where there is none.
   */
  claim(session: SessionState): Disposable;
  /** `publicUri` is what the session calls the resource. */
  add(server: Server, uri: string, session: SessionState, publicUri: string): void;
  /** True where the session was the last to want it, so that the server may be told. */
  remove(server: Server, uri: string, session: SessionState): boolean;
  of(server: Server, uri: string): ReadonlyMap<SessionState, string>;
  /** Forgets a session, and unsubscribes what nobody else wants. */
  removeAll(session: SessionState): void;
}

/** More for one session are refused: a client may not fill the hub's memory. */
const maxPerSession = 1_000;

/** A resource that some session wants to hear of. */
type Topic = {
  readonly server: Server;
  readonly uri: string;
  /** With the URI under which each of them knows it. */
  readonly sessions: Map<SessionState, string>;
};

/** Keeps the server subscribed while any session is, also over its restarts. */
export function createSubscriptions(
  servers: Pick<Servers, 'all'>,
  needs: { readonly log: Log },
): Subscriptions {
  const byServer = new Map<Server, Map<string, Topic>>();
  const bySession = new Map<SessionState, Set<Topic>>();
  const claims = new Map<SessionState, number>();
  const none: ReadonlyMap<SessionState, string> = new Map();

  async function tell(server: Server, method: string, uri: string): Promise<void> {
    try {
      await server.running?.upstream.request(method, { uri }, server.config.callTimeoutMs);
    } catch (error) {
      const { name } = server.config;
      needs.log.warn({ server: name, uri, error: messageOf(error) }, `${method} was refused`);
    }
  }

  for (const server of servers.all)
    server.changed(({ state }) => {
      if (state !== 'running') return;
      for (const uri of byServer.get(server)?.keys() ?? [])
        void tell(server, 'resources/subscribe', uri);
    });

  const topicOf = (server: Server, uri: string) => byServer.get(server)?.get(uri);

  /** True where nobody wants the topic any more. */
  function leave(topic: Topic, session: SessionState): boolean {
    const { server, uri, sessions } = topic;
    if (!sessions.delete(session)) return false;
    const topics = bySession.get(session);
    topics?.delete(topic);
    if (topics?.size === 0) bySession.delete(session);
    if (sessions.size > 0) return false;
    byServer.get(server)?.delete(uri);
    return true;
  }

  return {
    claim(session) {
      const claimed = claims.get(session) ?? 0;
      if ((bySession.get(session)?.size ?? 0) + claimed >= maxPerSession)
        throw new HubError(
          'HUB_SUBSCRIPTIONS_FULL',
          `this session is subscribed to ${maxPerSession} resources, which is the most. Unsubscribe from some, or open another session`,
        );
      claims.set(session, claimed + 1);
      return {
        [Symbol.dispose]() {
          const left = (claims.get(session) ?? 0) - 1;
          if (left > 0) claims.set(session, left);
          else claims.delete(session);
        },
      };
    },
    add(server, uri, session, publicUri) {
      const uris = byServer.get(server) ?? new Map<string, Topic>();
      byServer.set(server, uris);
      const topic: Topic = uris.get(uri) ?? { server, uri, sessions: new Map() };
      uris.set(uri, topic);
      topic.sessions.set(session, publicUri);
      const topics = bySession.get(session) ?? new Set<Topic>();
      bySession.set(session, topics.add(topic));
    },
    remove(server, uri, session) {
      const topic = topicOf(server, uri);
      return topic !== undefined && leave(topic, session);
    },
    of: (server, uri) => topicOf(server, uri)?.sessions ?? none,
    removeAll(session) {
      for (const topic of Array.from(bySession.get(session) ?? []))
        if (leave(topic, session)) void tell(topic.server, 'resources/unsubscribe', topic.uri);
    },
  };
}
