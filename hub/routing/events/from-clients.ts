import { type Log, messageOf } from '#core';
import { type Notification, membersOf, rawText, stringAt } from '#jsonrpc';
import type { Servers } from '#servers';
import type { Upstream } from '#upstream';
import { keepsSessions } from '../bridge/eras.ts';
import type { ClientRequests } from './client-requests.ts';
import { cancelCall, type SessionState } from '../session.ts';
import type { OlderClients } from '../older-clients.ts';

export type FromClientsNeeds = {
  readonly servers: Pick<Servers, 'all'>;
  readonly clientRequests: Pick<ClientRequests, 'progressed'>;
  readonly olderClients: Pick<OlderClients, 'find'>;
  readonly log: Log;
};

/** Handles notifications of clients, and forwards those that a server may handle. */
export function createFromClients({
  servers,
  clientRequests,
  olderClients,
  log,
}: FromClientsNeeds) {
  function cancelled({ bytes, params }: Notification, { inFlight }: SessionState): void {
    const members = membersOf(bytes, params);
    const id = members?.get('requestId');
    const call = id && inFlight.get(rawText(bytes, id));
    if (call) cancelCall(call, stringAt(bytes, members?.get('reason')));
  }

  /** Errors are logged, because a notification has no answer that could report them. */
  function tell(upstream: Upstream, notification: Notification): void {
    try {
      upstream.forward(notification);
    } catch (error) {
      log.debug({ method: notification.method, error: messageOf(error) }, 'a server was not told');
    }
  }

  return (notification: Notification, session: SessionState): void => {
    const { method } = notification;
    if (method === 'notifications/cancelled') return cancelled(notification, session);
    if (method === 'notifications/progress')
      return clientRequests.progressed(session, notification);
    if (method === 'notifications/initialized' || session.protocolVersion === undefined) return;
    const shared = session.endpoint === 'all' ? servers.all : [session.endpoint];
    const ofOlder = shared.flatMap(server => olderClients.find(server) ?? []);
    for (const { running } of [...session.instances.values(), ...shared, ...ofOlder]) {
      // A notification about one client means nothing to a server that also serves others.
      if (running && keepsSessions(running.serverInfo) && running.upstream.onlyOwner() === session)
        tell(running.upstream, notification);
    }
  };
}
