import { HubError } from '#core';
import { type Answer, elementsOf, membersOf, stringAt } from '#rpc';
import type { Server } from '#servers';
import type { SessionState } from './session.ts';

/**
 * Whose tasks are whose (MCP 2025-11-25, tasks): a server that several clients share knows no
 * difference between them, so that the hub lets each reach its own only.
 */
export interface Tasks {
  /** Keeps that an answer of the server made a task for the session, where it did. */
  made(server: Server, answer: Answer, session: SessionState): void;
  /** The server of a session's task. Throws HUB_NAME_UNKNOWN where the session has no such task. */
  get(session: SessionState, taskId: string): Server;
  /** What a session has, oldest first. */
  of(session: SessionState): readonly { readonly taskId: string; readonly server: Server }[];
  /** Whose task of that server it is. */
  ownerOf(server: Server, taskId: string): SessionState | undefined;
  /** Keeps that a client's answer made a task of its own, which the server may ask about. */
  askedAs(source: object, answer: Answer, session: SessionState): void;
  /** The client that has the task a server asks about; undefined also where two have one of that id. */
  clientOf(server: Server, taskId: string): SessionState | undefined;
  /** Keeps where the task of a client without a session is, where the answer made one. */
  route(server: Server, answer: Answer): void;
  /** The server of such a task. Its id is all that a client needs to know to reach it. */
  routeOf(taskId: string): Server | undefined;
  removeAll(session: SessionState): void;
  serverGone(server: Server): void;
}

/** The oldest of more are forgotten: the client can still not reach those of others. */
const maxPerSession = 1_000;
const maxRoutes = 10_000;

/** A task; `server` is where it is, undefined for those that clients made for a server. */
type Held = {
  readonly side: Side;
  readonly source: object;
  readonly taskId: string;
  readonly server: Server | undefined;
};
type Side = 'server' | 'client';
type Owners = Map<string, SessionState | 'several'>;

export function createTasks(): Tasks {
  const owners: Readonly<Record<Side, Map<object, Owners>>> = {
    server: new Map(),
    client: new Map(),
  };
  const held = new Map<SessionState, Held[]>();
  const routes = new Map<string, Server>();

  function keep(one: Held, session: SessionState): void {
    const { side, source, taskId } = one;
    const ofSource: Owners = owners[side].get(source) ?? new Map<string, SessionState>();
    owners[side].set(source, ofSource);
    const before = ofSource.get(taskId);
    if (before === session) return;
    ofSource.set(taskId, before === undefined ? session : 'several');
    const all = held.get(session) ?? [];
    held.set(session, all);
    all.push(one);
    if (all.length > maxPerSession) forget(all.shift(), session);
  }

  function forget(one: Held | undefined, session: SessionState): void {
    const ofSource = one && owners[one.side].get(one.source);
    if (!one || !ofSource) return;
    if (ofSource.get(one.taskId) === session) ofSource.delete(one.taskId);
    if (ofSource.size === 0) owners[one.side].delete(one.source);
  }

  function ownerOf(side: Side, source: object, taskId: string): SessionState | undefined {
    const owner = owners[side].get(source)?.get(taskId);
    return owner === 'several' ? undefined : owner;
  }

  const of = (session: SessionState) =>
    (held.get(session) ?? []).flatMap(({ server, taskId }) => (server ? [{ server, taskId }] : []));

  return {
    made(server, answer, session) {
      const taskId = answer.failed ? undefined : taskIdOf(answer);
      if (taskId !== undefined) keep({ side: 'server', source: server, taskId, server }, session);
    },
    get(session, taskId) {
      const one = of(session).find(task => task.taskId === taskId);
      if (one && ownerOf('server', one.server, taskId) === session) return one.server;
      throw new HubError(
        'HUB_NAME_UNKNOWN',
        `"params.taskId": this session has no task ${JSON.stringify(taskId)}`,
      );
    },
    of,
    ownerOf: (server, taskId) => ownerOf('server', server, taskId),
    askedAs(source, answer, session) {
      const taskId = answer.failed ? undefined : taskIdOf(answer);
      if (taskId !== undefined)
        keep({ side: 'client', source, taskId, server: undefined }, session);
    },
    clientOf: (server, taskId) => ownerOf('client', server, taskId),
    route(server, { bytes, payload }) {
      const taskId = stringAt(bytes, membersOf(bytes, payload)?.get('taskId'));
      if (taskId === undefined) return;
      routes.set(taskId, server);
      const [oldest] = routes.size > maxRoutes ? routes.keys() : [];
      if (oldest !== undefined) routes.delete(oldest);
    },
    routeOf: taskId => routes.get(taskId),
    removeAll(session) {
      for (const one of held.get(session) ?? []) forget(one, session);
      held.delete(session);
    },
    serverGone(server) {
      owners.server.delete(server);
      owners.client.delete(server);
      for (const [session, all] of held)
        held.set(
          session,
          all.filter(one => one.source !== server),
        );
    },
  };
}

/** The id in a CreateTaskResult. */
function taskIdOf({ bytes, payload }: Answer): string | undefined {
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
