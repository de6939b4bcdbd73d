import { type Log, messageOf } from '#core';
import type { Server, Servers } from '#servers';
import type { SessionState } from './session.ts';

/** Which sessions want to know of changes to which resource of which server. */
export interface Subscriptions {
  /** `publicUri` is what the session calls the resource. */
  add(server: Server, uri: string, session: SessionState, publicUri: string): void;
  /** True where the session was the last to want it, so that the server may be told. */
  remove(server: Server, uri: string, session: SessionState): boolean;
  of(server: Server, uri: string): ReadonlyMap<SessionState, string>;
  /** Forgets a session, and unsubscribes what nobody else wants. */
  removeAll(session: SessionState): void;
}

/** Keeps the server subscribed while any session is, also over its restarts. */
export function createSubscriptions(
  servers: Pick<Servers, 'all'>,
  needs: { readonly log: Log },
): Subscriptions {
  const byServer = new Map<Server, Map<string, Map<SessionState, string>>>();
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

  const subscriptions: Subscriptions = {
    add(server, uri, session, publicUri) {
      const uris = byServer.get(server) ?? new Map<string, Map<SessionState, string>>();
      byServer.set(server, uris);
      const sessions = uris.get(uri) ?? new Map<SessionState, string>();
      uris.set(uri, sessions);
      sessions.set(session, publicUri);
    },
    remove(server, uri, session) {
      const uris = byServer.get(server);
      const sessions = uris?.get(uri);
      if (!uris || !sessions?.delete(session) || sessions.size > 0) return false;
      uris.delete(uri);
      return true;
    },
    of: (server, uri) => byServer.get(server)?.get(uri) ?? none,
    removeAll(session) {
      for (const [server, uris] of byServer)
        for (const uri of Array.from(uris.keys()))
          if (subscriptions.remove(server, uri, session))
            void tell(server, 'resources/unsubscribe', uri);
    },
  };
  return subscriptions;
}
