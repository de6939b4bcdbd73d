import type { Clock } from '#core';
import { encodeCall } from '#jsonrpc';
import type { ListKind, Server, Servers } from '#servers';
import type { ClientInstances } from '../client-instances.ts';
import type { PinnedChanges } from '../find/pinned-changes.ts';
import type { Endpoint, InstanceHolder, SessionState } from '../session.ts';
import type { Tasks } from '../tasks/tasks.ts';
import type { LogLevels } from './log-levels.ts';
import type { FromServers } from './messages.ts';
import { type SubscriptionStreams, changeMethodOf } from './subscription-streams.ts';
import type { Subscriptions } from './subscriptions.ts';

/** Time in ms for which list changes are collected, to announce them together. */
const changeDelayMs = 100;

/** Subscribes to the events of all servers and instances: forwards their messages, and announces changed lists. */
export function listenToServers(needs: {
  readonly servers: Servers;
  readonly clients: ClientInstances;
  readonly sessions: () => readonly SessionState[];
  readonly streams: Pick<SubscriptionStreams, 'listChanged' | 'endAll'>;
  readonly levels: Pick<LogLevels, 'update'>;
  readonly subscriptions: Pick<Subscriptions, 'renew' | 'takeOver'>;
  readonly fromServers: FromServers;
  readonly pinnedChanges: PinnedChanges;
  readonly tasks: Pick<Tasks, 'instanceGone'>;
  /** Drops the open requests, tasks and pages of a server that has stopped or was removed. */
  readonly gone: (server: Server) => void;
  readonly clock: Pick<Clock, 'after'>;
}): void {
  const { servers, clients, sessions, streams, levels, subscriptions, fromServers } = needs;
  const due = new Map<Endpoint, Set<ListKind>>();

  function announceNow(endpoint: Endpoint, kinds: Iterable<ListKind>): void {
    // Resources and templates share one list changed notification.
    const methods = new Map([...kinds].map(kind => [changeMethodOf(kind), kind] as const));
    // Clients with an instance of their own get the announcements of that instance.
    const tellsSessions = endpoint === 'all' || endpoint.config.instance === 'shared';
    const base = endpoint === 'all' ? undefined : clients.olderBaseOf(endpoint);
    const concerns = (seen: Endpoint) =>
      seen === endpoint || (base !== undefined && (seen === base || seen === 'all'));
    for (const [method, kind] of methods) {
      const isListed = needs.pinnedChanges.announcing(endpoint, kind);
      for (const session of sessions())
        if (
          tellsSessions &&
          concerns(session.endpoint) &&
          session.protocolVersion !== undefined &&
          (session.endpoint !== 'all' || isListed(session.principal))
        )
          session.send(encodeCall(undefined, method));
      streams.listChanged(endpoint, kind, endpoint === 'all' ? isListed : undefined);
    }
  }

  /** Announces a changed list to the clients of an endpoint, together with other changes of the next 100 ms. */
  function announce(endpoint: Endpoint, kind: ListKind): void {
    const kinds = due.get(endpoint);
    if (kinds) {
      kinds.add(kind);
      return;
    }
    due.set(endpoint, new Set([kind]));
    needs.clock.after(changeDelayMs, () => {
      const now = due.get(endpoint) ?? [];
      due.delete(endpoint);
      announceNow(endpoint, now);
    });
  }

  /**
   * Subscribes to the events of a server. `holder` is the only client of an instance, `session` the client's session.
   */
  function hear(server: Server, session?: SessionState, holder?: InstanceHolder): void {
    server.listed(kind => {
      if (holder && (!session || session.endpoint === 'all')) clients.differs(holder);
      if (session) {
        const isListed = needs.pinnedChanges.announcing(server, kind);
        if (session.endpoint !== 'all' || isListed(session.principal))
          session.send(encodeCall(undefined, changeMethodOf(kind)));
      } else announce(server, kind);
    });
    server.changed(({ state }) => {
      if (state === 'running') {
        // The instance may have replaced another instance, whose tasks it does not know.
        needs.tasks.instanceGone(server);
        levels.update(server);
        subscriptions.renew(server);
      } else needs.gone(server);
    });
    server.notified(message => fromServers.notification(server, message, session));
    server.serverRequest(request => fromServers.serverRequest(server, request, session));
  }

  const heard = new WeakSet<Server>();
  const hearAll = () => {
    for (const server of servers.all) {
      if (heard.has(server)) continue;
      heard.add(server);
      hear(server);
      subscriptions.takeOver(server, other => clients.baseOf(other) === other);
    }
  };
  clients.shared.catalog.changed(kind => announce('all', kind));
  hearAll();
  servers.changed(hearAll);
  servers.removed(server => {
    streams.endAll(server);
    clients.serverRemoved(server);
  });
  servers.instances.opened(({ server, base, session: opener }) => {
    const holder = clients.opened(base, server, opener);
    const session = sessions().find(one => one === holder);
    hear(server, session, holder);
  });
}
