import { type Log, messageOf } from '#core';
import { type Notification, membersOf, rawText, stringAt } from '#jsonrpc';
import { keepsSessions } from '#mcp';
import type { Servers } from '#servers';
import type { Upstream } from '#upstream';
import type { ClientInstances } from '../client-instances.ts';
import { type SessionState, cancelByClient } from '../session.ts';
import type { Tasks } from '../tasks/tasks.ts';
import type { ClientRequests } from './client-requests.ts';

/**
 * Creates the handler of notifications of clients. It handles cancellations and progress itself. It forwards others to
 * servers that no other client has called, and updates of a client's task to the server that asked for the task.
 */
export function createFromClients({
  servers,
  clientRequests,
  clients,
  tasks,
  log,
}: {
  readonly servers: Pick<Servers, 'all'>;
  readonly clientRequests: Pick<ClientRequests, 'progressed'>;
  readonly clients: Pick<ClientInstances, 'findOlder'>;
  readonly tasks: Pick<Tasks, 'clientOf'>;
  readonly log: Log;
}) {
  function cancelled({ bytes, params }: Notification, { inFlight }: SessionState): void {
    const members = membersOf(bytes, params);
    const id = members?.get('requestId');
    const call = id && inFlight.get(rawText(bytes, id));
    if (call) cancelByClient(call, stringAt(bytes, members?.get('reason')));
  }

  /** Forwards a notification to a server. Only logs errors: no answer to a notification could report them. */
  function tell(upstream: Upstream, notification: Notification): void {
    try {
      upstream.forward(notification);
    } catch (error) {
      log.debug({ method: notification.method, error: messageOf(error) }, 'forwarding failed');
    }
  }

  return (notification: Notification, session: SessionState): void => {
    const { method } = notification;
    if (method === 'notifications/cancelled') return cancelled(notification, session);
    if (method === 'notifications/progress')
      return clientRequests.progressed(session, notification);
    // A server that ignores the absent id would handle it as a request, which no policy decided about.
    if (!method.startsWith('notifications/')) return;
    if (method === 'notifications/initialized' || session.protocolVersion === undefined) return;
    const shared = session.endpoint === 'all' ? servers.all : [session.endpoint];
    const ofOlder = shared.flatMap(server => clients.findOlder(server) ?? []);
    const taskId = method === 'notifications/tasks/status' ? taskIdIn(notification) : undefined;
    for (const server of [...session.instances.values(), ...shared, ...ofOlder]) {
      const { running } = server;
      if (!running || !keepsSessions(running.serverInfo)) continue;
      // A shared server cannot use a notification about one client, unless it asked for the task of that client.
      const isItsTask = taskId !== undefined && tasks.clientOf(server, taskId) === session;
      if (isItsTask || running.upstream.onlyOwner() === session)
        tell(running.upstream, notification);
    }
  };
}

const taskIdIn = ({ bytes, params }: Notification) =>
  stringAt(bytes, membersOf(bytes, params)?.get('taskId'));
