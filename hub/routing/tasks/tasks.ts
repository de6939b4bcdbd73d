import { HubError } from '#core';
import { type Answer, elementsOf, membersOf, stringAt } from '#jsonrpc';
import type { Server } from '#servers';
import { createOwnership } from '../events/ownership.ts';
import type { SessionState } from '../session.ts';

/** A task at a server, and how its client knows it. */
export type Task = {
  /** Where requests about it go: the configured server, whichever instance of it the client has. */
  readonly server: Server;
  /** The server's own id. */
  readonly taskId: string;
  /** The same, unless the client has one of that id at another server already. */
  readonly publicId: string;
};

/**
 * Whose tasks are whose (MCP 2025-11-25, tasks): a server that several clients share knows no
 * difference between them, so that the hub lets each reach its own only. The ids are those of one server,
 * or of one instance of it. On the endpoint of all, a second task with an id that is in use gets the name
 * of its server in front of it, as URIs do.
 */
export interface Tasks {
  /** Keeps that an answer of the instance made a task for the session, where it did. */
  made(server: Server, instance: Server, answer: Answer, session: SessionState): Task | undefined;
  /** A session's task. Throws HUB_NAME_UNKNOWN where the session has no such task. */
  get(session: SessionState, publicId: string): Task;
  /** What a session has, oldest first. */
  of(session: SessionState): readonly Task[];
  /** Whether a session has a task at a server, or a server has one at its client. */
  has(session: SessionState): boolean;
  /** Whose task of that instance it is. */
  ownerOf(instance: Server, taskId: string): Owned | undefined;
  /** Whether any session has a task at that instance, which works on it also when nobody asks. */
  areAt(instance: Server): boolean;
  /** Keeps that a client's answer made a task of its own, which the server may ask about. */
  askedAs(source: object, answer: Answer, session: SessionState): void;
  /** The client that has the task a server asks about; undefined also where two have one of that id. */
  clientOf(instance: Server, taskId: string): SessionState | undefined;
  /** Keeps where the task of a client without a session is, where the answer made one. */
  route(server: Server, answer: Answer): Task | undefined;
  /** Such a task, by the id that the client knows. That is all it needs to know to reach it. */
  routeOf(publicId: string): Task | undefined;
  removeAll(session: SessionState): void;
  /** An instance is gone, and with it what was kept of the tasks there. */
  instanceGone(instance: Server): void;
}

export type Owned = Task & { readonly session: SessionState };

/** The oldest of more are forgotten: the client can still not reach those of others. */
const maxPerSession = 1_000;
/** Of more tasks of clients without a session, the oldest cannot be reached on the endpoint of all. */
const maxRoutes = 10_000;

export function createTasks(): Tasks {
  const ofServers = createOwnership<Task>(maxPerSession);
  const ofClients = createOwnership<undefined>(maxPerSession);
  /** By public id. A server of the stateless revision may know its tasks also after a restart. */
  const routes = new Map<string, Task>();

  /** What the session can reach: where a server gave two clients one id, it is neither's. */
  const claimsOf = (session: SessionState) =>
    ofServers.of(session).filter(({ source, id }) => ofServers.ownerOf(source, id) === session);

  return {
    made(server, instance, answer, session) {
      const taskId = answer.failed ? undefined : idMade(answer);
      if (taskId === undefined) return undefined;
      const claims = ofServers.of(session);
      const known = claims.find(({ source, id }) => source === instance && id === taskId);
      if (known) return known.about;
      const isTaken = (id: string) => claims.some(({ about }) => about.publicId === id);
      const about = { server, taskId, publicId: freeId(server, taskId, isTaken) };
      ofServers.add(session, { source: instance, id: taskId, about });
      return about;
    },
    get(session, publicId) {
      const found = claimsOf(session).find(({ about }) => about.publicId === publicId);
      if (found) return found.about;
      throw new HubError(
        'HUB_NAME_UNKNOWN',
        `"params.taskId": this session has no task ${JSON.stringify(publicId)}`,
      );
    },
    of: session => claimsOf(session).map(({ about }) => about),
    has: session => ofServers.of(session).length > 0 || ofClients.of(session).length > 0,
    ownerOf(instance, taskId) {
      const session = ofServers.ownerOf(instance, taskId);
      const claim =
        session &&
        ofServers.of(session).find(({ source, id }) => source === instance && id === taskId);
      return session && claim && { ...claim.about, session };
    },
    areAt: instance => ofServers.isHeld(instance),
    askedAs(source, answer, session) {
      const id = answer.failed ? undefined : idMade(answer);
      if (id !== undefined) ofClients.add(session, { source, id, about: undefined });
    },
    clientOf: (instance, taskId) => ofClients.ownerOf(instance, taskId),
    route(server, { bytes, payload, failed }) {
      const members = failed ? undefined : membersOf(bytes, payload);
      const taskId = stringAt(bytes, members?.get('taskId'));
      if (taskId === undefined || stringAt(bytes, members?.get('resultType')) !== 'task')
        return undefined;
      const isOfAnother = (id: string) => {
        const known = routes.get(id);
        return known !== undefined && (known.server !== server || known.taskId !== taskId);
      };
      const task = { server, taskId, publicId: freeId(server, taskId, isOfAnother) };
      routes.set(task.publicId, task);
      const [oldest] = routes.size > maxRoutes ? routes.keys() : [];
      if (oldest !== undefined) routes.delete(oldest);
      return task;
    },
    routeOf: publicId => routes.get(publicId),
    removeAll(session) {
      ofServers.removeAll(session);
      ofClients.removeAll(session);
    },
    instanceGone(instance) {
      ofServers.sourceGone(instance);
      ofClients.sourceGone(instance);
    },
  };
}

/** The id, with the name of its server in front as often as it takes. */
function freeId({ config }: Server, taskId: string, isTaken: (id: string) => boolean): string {
  let id = taskId;
  while (isTaken(id)) id = `${config.name}+${id}`;
  return id;
}

/** The id in a CreateTaskResult. */
function idMade({ bytes, payload }: Answer): string | undefined {
  const task = membersOf(bytes, payload)?.get('task');
  return stringAt(bytes, membersOf(bytes, task)?.get('taskId'));
}

/** The tasks in the answer to `tasks/list` that `keep` is true of, as a result in JSON text. */
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
