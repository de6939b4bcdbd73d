import { HubError } from '#core';
import { type Notification, errorAnswer, membersOf, rawText, stringAt } from '#jsonrpc';
import type { Server } from '#servers';
import type { Owner, ResponseStream, ServerNotification, ServerRequest } from '#upstream';
import type { Access } from '../access.ts';
import type { SuspendedCalls } from '../bridge/input-required.ts';
import { methodNotFound, waitingMethod } from '../call.ts';
import type { SessionState } from '../session.ts';
import {
  type Task,
  type Tasks,
  notificationInTask,
  relatedTaskIn,
  requestInTask,
} from '../tasks/tasks.ts';
import { isClientMethod, isServerMethod } from './client-capabilities.ts';
import type { ClientRequests } from './client-requests.ts';
import type { HubModels } from './hub-models.ts';
import type { HubSampling } from './hub-sampling.ts';
import type { LogLevels } from './log-levels.ts';
import type { UrlElicitations } from './ownership.ts';
import { type ServerLogs, loggedMethod } from './server-logs.ts';
import type { SubscriptionStreams } from './subscription-streams.ts';

type FromServersNeeds = {
  readonly sessions: () => readonly SessionState[];
  /** Decides whether a session may get messages of a server that belong to none of its calls. */
  readonly access: Pick<Access, 'mayHearFrom'>;
  /** The open requests of servers to clients, and those that the hub answers. */
  readonly asking: {
    readonly clients: readonly Pick<ClientRequests | SuspendedCalls, 'withdrawn'>[];
    readonly hub: Pick<HubSampling, 'answers' | 'answerRequest' | 'withdrawn'>;
    readonly models: Pick<HubModels, 'isOwn' | 'answerRequest' | 'withdrawn'>;
  };
  readonly urlElicitations: UrlElicitations;
  readonly tasks: Tasks;
  readonly levels: Pick<LogLevels, 'defaultLevel'>;
  readonly streams: SubscriptionStreams;
  /** Sends an update of a resource to its subscribers. */
  readonly updated: (server: Server, notification: ServerNotification) => void;
  readonly baseOf: (instance: Server) => Server;
  readonly logs: ServerLogs;
};

export type FromServers = ReturnType<typeof createFromServers>;

type Recipient = { readonly owner: Owner; readonly responseStream: ResponseStream };
type Unknown = 'none' | 'several' | 'gone';
/** The session whose task a message names. `task`: absent if it is a task of the client. */
type TaskOwner = { readonly session: SessionState; readonly task?: Task | undefined };

const paramOf = (name: string, { bytes, params }: Pick<Notification, 'bytes' | 'params'>) =>
  stringAt(bytes, membersOf(bytes, params)?.get(name));

/**
 * Forwards a server's messages to the clients that they concern. A shared server does not name the client. A message
 * on the response stream of a call goes to the caller, and a message that names a task goes to the owner of the task.
 * Any other message goes to the only client with calls in flight. If no call is in flight, it goes to the only client
 * that the server has ever served. Messages outside of calls go only to clients that may use the server. `session` is
 * set for a server that serves only this session.
 */
export function createFromServers(needs: FromServersNeeds) {
  const { sessions, urlElicitations, tasks } = needs;
  const { log, logOf } = needs.logs;

  const mayHear = (session: SessionState, server: Server, task?: Task) =>
    needs.access.mayHearFrom(session, needs.baseOf(server), task);

  function recipientOf(
    server: Server,
    { about, connection }: Pick<ServerRequest | ServerNotification, 'about' | 'connection'>,
    taskOwner: TaskOwner | undefined,
    session: SessionState | undefined,
  ): Recipient | Unknown {
    if (typeof about === 'object') return about;
    const caller = taskOwner ? 'none' : (about ?? connection.onlyCaller());
    if (typeof caller === 'object') return caller;
    const onlyOwner = caller === 'several' ? undefined : connection.onlyOwner();
    const owner = taskOwner?.session ?? session ?? sessions().find(one => one === onlyOwner);
    if (!owner) return caller;
    return mayHear(owner, server, taskOwner?.task) ? { owner, responseStream: owner } : 'none';
  }

  const ownedTask = (server: Server, taskId: string | undefined) =>
    taskId === undefined ? undefined : tasks.ownerOf(server, taskId);

  function refuse(server: Server, { request, answer }: ServerRequest, found: Unknown): void {
    const { name } = server.config;
    const why = {
      several: `several clients have calls in flight at ${name}, or questions of it to answer, so the hub cannot tell which of them to ask. Set "instance": "session" in its entry, so that each client has its own instance of ${name}`,
      none: `${name} asked while it worked for no client`,
      gone: `${name} asked on behalf of a call that is over`,
    };
    const error = new HubError(
      found === 'gone' ? 'HUB_CLIENT_GONE' : 'HUB_CLIENT_UNKNOWN',
      `${request.method}: ${why[found]}`,
      { data: { server: name, method: request.method } },
    );
    const fields = { method: loggedMethod(request.method), found };
    // Many servers send requests at startup, before any client is connected.
    if (found !== 'none') logOf(server).warn(fields, 'a request to a client was refused');
    else log.debug({ server: name, ...fields }, 'a request to a client was refused');
    answer(errorAnswer(rawText(request.bytes, request.id), error));
  }

  /** True if the message belongs to a request of the hub, or the server has served no client yet. */
  const isOfItself = ({ about, connection }: ServerNotification) =>
    about === 'none' || connection.onlyOwner() === 'none';

  /** Sends a notification to every client with a session that may use an item of the server. */
  function tellAll(server: Server, notification: ServerNotification): void {
    // An instance without a client of its own. Each client gets the messages of its own instance instead.
    if (server.config.instance === 'session') return;
    const isLog = notification.method === 'notifications/message';
    const base = needs.baseOf(server);
    const level = needs.levels.defaultLevel(server);
    const open = sessions();
    notification.copied?.(open.length);
    for (const session of open)
      if (session.protocolVersion !== undefined)
        if (session.endpoint === base || (isLog && session.endpoint === 'all'))
          if (mayHear(session, base)) session.notification(notification, session, level);
  }

  /** Sends `elicitation/complete` only to the client that was sent to the page, within its call if there is one. */
  function completed(server: Server, notification: ServerNotification): void {
    const id = paramOf('elicitationId', notification);
    const owner = id === undefined ? undefined : urlElicitations.ownerOf(server, id);
    if (id === undefined || !owner) {
      log.debug({ server: server.config.name, elicitationId: id }, 'no client waits for this page');
      return;
    }
    urlElicitations.remove(owner, server, id);
    const caller = notification.about ?? notification.connection.onlyCaller();
    const isOnItsWay = typeof caller === 'object' && caller.owner === owner;
    owner.notification(notification, isOnItsWay ? caller.responseStream : owner);
  }

  /** Ends the open requests with the id that a server cancels, whether a client or the hub answers them. */
  function withdraw({ connection, bytes, params }: ServerNotification): void {
    const members = membersOf(bytes, params);
    const span = members?.get('requestId');
    if (!span) return;
    const { clients, hub, models } = needs.asking;
    const id = rawText(bytes, span);
    const reason = stringAt(bytes, members?.get('reason')) ?? 'the server withdrew it';
    for (const one of [...clients, hub, models]) one.withdrawn(connection, id, reason);
  }

  return {
    /** Forwards a request of a server to the one client that it can concern; otherwise refuses it. */
    serverRequest(
      server: Server,
      serverRequest: ServerRequest,
      session: SessionState | undefined,
    ): void {
      const { request, connection, about } = serverRequest;
      if (needs.asking.models.isOwn(request.method)) {
        void needs.asking.models.answerRequest(server, serverRequest);
        return;
      }
      if (isServerMethod(request.method)) {
        const what = `${JSON.stringify(request.method)} of ${server.config.name} is not answered: the hub and its clients are not servers of ${server.config.name}`;
        const fields = { method: loggedMethod(request.method) };
        logOf(server).warn(fields, 'a server asked the hub as a server');
        serverRequest.answer(errorAnswer(rawText(request.bytes, request.id), methodNotFound(what)));
        return;
      }
      const isForHub = needs.asking.hub.answers(server, request.method);
      const isGuess =
        !isForHub && !session && server.config.instance === 'shared' && typeof about !== 'object';
      if (isGuess && isClientMethod(request.method))
        server.advise(
          'it sends requests to clients: set "instance": "session", so that each client has its own instance, and none gets the questions of another',
        );
      const ofTask = request.method.startsWith('tasks/');
      const taskId = ofTask
        ? paramOf('taskId', request)
        : relatedTaskIn(request.bytes, request.params);
      const task = ofTask ? undefined : ownedTask(server, taskId);
      const owner = ofTask && taskId !== undefined ? tasks.clientOf(server, taskId) : task?.session;
      const taskOwner = owner && { session: owner, task };
      // A client's task stays with that client, whatever calls the server is working on.
      const found =
        ofTask && !session && !owner
          ? 'none'
          : recipientOf(
              server,
              { connection, about: ofTask ? undefined : about },
              taskOwner,
              session,
            );
      const answerByHub = isForHub
        ? (signal?: AbortSignal) => needs.asking.hub.answerRequest(server, serverRequest, signal)
        : undefined;
      if (typeof found !== 'string')
        found.owner.serverRequest(
          { ...requestInTask(serverRequest, task), source: server, answerByHub },
          found.responseStream,
        );
      else if (answerByHub) void answerByHub();
      else refuse(server, serverRequest, found);
    },
    /** Handles a notification of a server, other than list changes and the progress of pending requests. */
    notification(
      server: Server,
      notification: ServerNotification,
      session: SessionState | undefined,
    ): void {
      switch (notification.method) {
        case 'notifications/resources/updated':
          needs.updated(server, notification);
          return;
        case 'notifications/cancelled':
          withdraw(notification);
          return;
        case 'notifications/elicitation/complete':
          completed(server, notification);
          return;
        case waitingMethod:
          return;
        case 'notifications/progress':
          // The hub's own servers name the client's token and the task themselves.
          if (server.isBuiltin) break;
          tasks.progress.progressed(notification.connection, notification, (session, task) =>
            mayHear(session, server, task),
          );
          return;
        case 'notifications/tasks':
          needs.streams.task(server, notification);
          return;
        case 'notifications/tasks/status': {
          const task = ownedTask(server, paramOf('taskId', notification));
          const owner = session ?? task?.session;
          if (owner && mayHear(owner, server, task))
            owner.send(notificationInTask(notification, task).bytes);
          return;
        }
      }
      const task = ownedTask(server, relatedTaskIn(notification.bytes, notification.params));
      const found = recipientOf(
        server,
        notification,
        task && { session: task.session, task },
        session,
      );
      if (found === 'none' && !task && isOfItself(notification)) tellAll(server, notification);
      else if (typeof found === 'string')
        log.debug(
          { server: server.config.name, method: notification.method, found },
          'a notification was not passed on: its client is unknown',
        );
      else {
        const renamed = notificationInTask(notification, task);
        found.owner.notification(renamed, found.responseStream, needs.levels.defaultLevel(server));
      }
    },
  };
}
