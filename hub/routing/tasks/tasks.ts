import { HubError, createSharedMap } from '#core';
import {
  type Answer,
  type Notification,
  type Request,
  type Span,
  elementsOf,
  membersOf,
  readMessage,
  splice,
  stringAt,
} from '#jsonrpc';
import { metaKeys } from '#mcp';
import type { Server } from '#servers';
import type { ServerRequest } from '#upstream';
import { createOwnership, isKeptId } from '../events/ownership.ts';
import type { SessionState } from '../session.ts';
import { createTaskProgress } from './task-progress.ts';

/** A task at a server, with the server's id and the client's id. */
export type Task = {
  /** The configured server, which gets requests about the task at whichever instance the client uses. */
  readonly server: Server;
  /** The id that the server gave the task. */
  readonly taskId: string;
  /** The id that the client uses: `taskId`, unless the client already has a task with that id at another server. */
  readonly publicId: string;
  /** The tool that works on the task, by the server's own name; undefined if no tool does. */
  readonly tool?: string | undefined;
};

export type Tasks = ReturnType<typeof createTasks>;

type TaskOfSession = Task & { readonly session: SessionState };

/** Maximum number of tasks per session. The oldest tasks beyond it are dropped. */
const maxPerSession = 1_000;
/**
 * Maximum number of tasks of clients without a session. Older tasks can be reached only on the endpoint of their
 * server.
 */
const maxRoutes = 10_000;
/** Maximum number of tasks of clients without a session per principal. The oldest tasks beyond it are dropped. */
const maxRoutesPerPrincipal = 1_000;

/**
 * Records the owners of tasks (MCP 2025-11-25, tasks), because a shared server does not distinguish its clients. Ids
 * are unique per instance. On the endpoint of all servers, a second task with the same id gets the server's name as a
 * prefix.
 */
export function createTasks() {
  const ofServers = createOwnership<Task>(maxPerSession);
  const ofClients = createOwnership<undefined>(maxPerSession);
  const progress = createTaskProgress<Task>();
  /** Tasks by public id. A stateless server may keep its tasks across a restart. */
  const routes = createSharedMap<Task>(maxRoutes, maxRoutesPerPrincipal);

  /**
   * Returns the tasks that the session can reach. If a server gave two clients the same id, neither can reach the
   * task.
   */
  const tasksOf = (session: SessionState): readonly Task[] =>
    ofServers
      .of(session)
      .flatMap(({ source, id, about }) =>
        ofServers.ownerOf(source, id) === session ? [about] : [],
      );

  /**
   * Finds the task of a client without a session by the server's own id, which clients use at the server's endpoint.
   */
  function routeAt(server: Server, taskId: string): Task | undefined {
    // Tries the possible ids in the order of `freeId`.
    for (let id = taskId; ; id = prefixedId(server, id)) {
      const task = routes.get(id);
      if (!task || (task.server === server && task.taskId === taskId)) return task;
    }
  }

  return {
    progress,
    /** Records the task if an answer of the instance created one for the session. */
    made(
      server: Server,
      instance: Server,
      answer: Answer,
      session: SessionState,
      tool?: string,
    ): Task | undefined {
      const taskId = idMade(answer);
      if (taskId === undefined) return undefined;
      const known = ofServers.find(session, instance, taskId);
      if (known) return known.about;
      const isTaken = (id: string) =>
        ofServers.of(session).some(({ about }) => about.publicId === id);
      const about = { server, taskId, publicId: freeId(server, taskId, isTaken), tool };
      ofServers.add(session, { source: instance, id: taskId, about });
      return about;
    },
    /** Returns a task of a session. Throws HUB_NAME_UNKNOWN if the session has no such task. */
    get(session: SessionState, publicId: string): Task {
      const found = tasksOf(session).find(task => task.publicId === publicId);
      if (found) return found;
      throw new HubError(
        'HUB_NAME_UNKNOWN',
        `"params.taskId": this session has no task ${JSON.stringify(publicId)}`,
      );
    },
    /** Finds the task that a request of a client names; undefined if the hub does not know it. */
    find: (session: SessionState, id: string): Task | undefined =>
      tasksOf(session).find(task => task.publicId === id) ??
      (session.endpoint === 'all' ? routes.get(id) : routeAt(session.endpoint, id)),
    routeAt,
    /** Returns the tasks of a session, oldest first. */
    of: tasksOf,
    /** True if a session has a task at a server, or a server has a task at the session's client. */
    has: (session: SessionState): boolean =>
      ofServers.of(session).length > 0 || ofClients.of(session).length > 0,
    /** Finds a task of an instance, with the session that owns it. */
    ownerOf(instance: Server, taskId: string): TaskOfSession | undefined {
      const session = ofServers.ownerOf(instance, taskId);
      const found = session && ofServers.find(session, instance, taskId);
      return session && found && { ...found.about, session };
    },
    /** True if any session has a task at the instance. The instance works on tasks even without open requests. */
    areAt: (instance: Server): boolean => ofServers.isHeld(instance),
    /**
     * Records the task if the answer of a client to a server's request created one. The server may ask the client
     * about it.
     */
    askedAs(source: object, answer: Answer, session: SessionState): boolean {
      const id = idMade(answer);
      if (id === undefined) return false;
      ofClients.add(session, { source, id, about: undefined });
      return true;
    },
    /**
     * Returns the session of the client that has this task for a server; undefined also if two clients have the same
     * id.
     */
    clientOf: (instance: Server, taskId: string) => ofClients.ownerOf(instance, taskId),
    /** Records the server of a task that an answer created for a client without a session. `owner`: its principal. */
    route(
      server: Server,
      { bytes, payload, failed }: Answer,
      owner: string,
      tool?: string,
    ): Task | undefined {
      const members = failed ? undefined : membersOf(bytes, payload);
      const taskId = stringAt(bytes, members?.get('taskId'));
      if (!isKeptId(taskId) || stringAt(bytes, members?.get('resultType')) !== 'task')
        return undefined;
      const isOfAnother = (id: string) => {
        const known = routes.get(id);
        return known !== undefined && (known.server !== server || known.taskId !== taskId);
      };
      const task = { server, taskId, publicId: freeId(server, taskId, isOfAnother), tool };
      routes.set(task.publicId, task, owner);
      return task;
    },
    /** Finds the task of a client without a session by the client's id. The id alone gives access. */
    routeOf: (publicId: string) => routes.get(publicId),
    removeAll(session: SessionState): void {
      ofServers.removeAll(session);
      ofClients.removeAll(session);
      progress.removeAll(session);
    },
    instanceGone(instance: Server): void {
      ofServers.sourceGone(instance);
      ofClients.sourceGone(instance);
    },
  };
}

/** Returns the id, prefixed with the server's name until it is free. */
function freeId(server: Server, taskId: string, isTaken: (id: string) => boolean): string {
  let id = taskId;
  while (isTaken(id)) id = prefixedId(server, id);
  return id;
}

const prefixedId = ({ config }: Server, id: string) => `${config.name}+${id}`;

/** Returns the id in a CreateTaskResult; undefined for any other answer, and if the id is too long. */
function idMade({ bytes, payload, failed }: Answer): string | undefined {
  const task = failed ? undefined : membersOf(bytes, payload)?.get('task');
  const id = stringAt(bytes, membersOf(bytes, task)?.get('taskId'));
  return isKeptId(id) ? id : undefined;
}

/** Returns the tasks in the answer to `tasks/list` for which `keep` returns true, each as JSON text. */
export function tasksIn(
  { bytes, payload }: Answer,
  keep: (taskId: string) => boolean,
): readonly string[] {
  return elementsOf(bytes, membersOf(bytes, payload)?.get('tasks'))
    .filter(span => {
      const taskId = stringAt(bytes, membersOf(bytes, span)?.get('taskId'));
      return taskId !== undefined && keep(taskId);
    })
    .map(({ start, end }) => bytes.toString('utf8', start, end));
}

/** Replaces the task id in a notification with the client's id. */
export function notificationInTask(
  notification: Notification,
  task: Task | undefined,
): Notification {
  if (!isRenamed(task)) return notification;
  const renamed = readMessage(
    withTaskId(notification.bytes, notification.params, task.taskId, task.publicId),
  );
  return renamed.kind === 'notification' ? renamed : notification;
}

/** Replaces the task id in a request with the client's id, and in its answer with the server's id. */
export function requestInTask(serverRequest: ServerRequest, task: Task | undefined): ServerRequest {
  if (!isRenamed(task)) return serverRequest;
  const { taskId, publicId } = task;
  const { bytes, params } = serverRequest.request;
  const renamed = readMessage(withTaskId(bytes, params, taskId, publicId));
  const request: Request = renamed.kind === 'request' ? renamed : serverRequest.request;
  return {
    ...serverRequest,
    request,
    answer: reply => serverRequest.answer(inPayload(reply, publicId, taskId)),
  };
}

/** Replaces the id of a task in an answer. */
export function inPayload(bytes: Buffer, from: string, to: string): Buffer {
  const answer = from === to ? undefined : readMessage(bytes);
  return answer?.kind === 'answer' ? withTaskId(bytes, answer.payload, from, to) : bytes;
}

const isRenamed = (task: Task | undefined): task is Task =>
  task !== undefined && task.publicId !== task.taskId;

/** Returns the id of the task that a message belongs to. `object`: the params or the result of the message. */
export function relatedTaskIn(bytes: Buffer, object: Span | undefined): string | undefined {
  return stringAt(bytes, relatedSpan(bytes, membersOf(bytes, object)));
}

/** Replaces a task's id in params or a result: in `taskId`, the created `task`, and `_meta` of related messages. */
export function withTaskId(
  bytes: Buffer,
  object: Span | undefined,
  from: string,
  to: string,
): Buffer {
  if (from === to) return bytes;
  const members = membersOf(bytes, object);
  const made = membersOf(bytes, members?.get('task'));
  const spans = [members?.get('taskId'), made?.get('taskId'), relatedSpan(bytes, members)];
  const text = JSON.stringify(to);
  return splice(
    bytes,
    spans.flatMap(span => (span && stringAt(bytes, span) === from ? [{ span, text }] : [])),
  );
}

function relatedSpan(
  bytes: Buffer,
  members: ReadonlyMap<string, Span> | undefined,
): Span | undefined {
  const related = membersOf(bytes, members?.get('_meta'))?.get(metaKeys.relatedTask);
  return membersOf(bytes, related)?.get('taskId');
}
