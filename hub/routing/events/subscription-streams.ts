import { HubError, isObject, retryable } from '#core';
import {
  type Notification,
  encodeCall,
  encodeResult,
  membersOf,
  splice,
  stringAt,
  valueOf,
} from '#jsonrpc';
import { metaKeys, metaEdits } from '#mcp';
import { type Principal, principalKey } from '#policy';
import { type ListKind, type Server, listKinds, listMethods } from '#servers';
import { type Call, invalidRequest } from '../call.ts';
import { type Endpoint, setWork } from '../session.ts';
import { type Tasks, withTaskId } from '../tasks/tasks.ts';
import type { Subscriber } from './subscriptions.ts';

/** The notifications that a listening client wants (MCP 2026-07-28, `subscriptions/listen`). */
type Filter = {
  readonly lists: ReadonlySet<string>;
  readonly uris: readonly string[];
  readonly taskIds: readonly string[];
};

type SubscriptionStream = Subscriber & {
  /** True once the acknowledgement was sent. No notification is sent before the acknowledgement. */
  isAcknowledged: boolean;
  /** The source of list changes: all servers, or one instance. */
  readonly source: Endpoint;
  /** True if an instance serves only the client of this stream. */
  readonly isOwn: (instance: Server) => boolean;
  readonly filter: Filter;
  /** Ends the stream normally: the client gets an empty result. */
  end(): void;
};

/** Maximum number of streams. Over HTTP, each stream keeps a connection open. */
const maxStreams = 10_000;
/** Maximum number of streams of one principal. A single WebSocket can carry many, and other clients need room. */
const maxPerPrincipal = 1_000;
/**
 * Maximum number of tasks that the streams of one principal name. Opening and closing a stream goes through all of
 * them.
 */
const maxTasksPerPrincipal = 10_000;

/** Returns the method of the notification for a changed list. */
export const changeMethodOf = (kind: ListKind): string =>
  `notifications/${listMethods[kind].capability}/list_changed`;

const listMemberOf = (kind: ListKind) => `${listMethods[kind].capability}ListChanged`;

const isTold = ({ source, filter, isOwn }: SubscriptionStream, member: string, of: Endpoint) =>
  filter.lists.has(member) && (source === of || (source === 'all' && of !== 'all' && isOwn(of)));

export type SubscriptionStreams = ReturnType<typeof createSubscriptionStreams>;

/** Keeps the open `subscriptions/listen` requests, and sends notifications on their streams. */
export function createSubscriptionStreams(needs: {
  readonly tasks: Pick<Tasks, 'routeOf'>;
  readonly baseOf: (instance: Server) => Server;
  /** False if a principal may not get updates of a task, given by the server's id. Absent: all principals may. */
  readonly mayHearTask?: (principal: Principal, server: Server, taskId: string) => boolean;
  /** Called when the set of tasks changes that the streams of an endpoint name. */
  readonly tasksChanged: (endpoint: Endpoint) => void;
}) {
  const streams = new Set<SubscriptionStream>();
  const counts = new Map<string, { streams: number; tasks: number }>();

  /** Throws HUB_SUBSCRIPTIONS_FULL if the limits allow no further stream of a principal. */
  function checkRoom(key: string, { taskIds }: Filter): void {
    const own = counts.get(key) ?? { streams: 0, tasks: 0 };
    if (streams.size >= maxStreams)
      throw full(
        `${maxStreams} requests to listen are open, which is the most. Try again when some have ended`,
      );
    if (own.streams >= maxPerPrincipal)
      throw full(
        `this client has ${maxPerPrincipal} open requests to listen, which is the most. End some, or name more in one request`,
      );
    if (own.tasks + taskIds.length > maxTasksPerPrincipal)
      throw full(
        `this client listens to ${own.tasks} tasks, and this request names ${taskIds.length}: the most is ${maxTasksPerPrincipal} together. End some requests, or leave out tasks that have ended`,
      );
  }

  function count(key: string, streams: 1 | -1, tasks: number): void {
    const own = counts.get(key) ?? { streams: 0, tasks: 0 };
    const now = { streams: own.streams + streams, tasks: own.tasks + streams * tasks };
    if (now.streams > 0) counts.set(key, now);
    else counts.delete(key);
  }

  /** Yields the streams that name tasks of a server, each with the client's and the server's id of the task. */
  function* taskListeners(server: Server) {
    const base = needs.baseOf(server);
    for (const listen of streams) {
      const { endpoint, isOwn, filter } = listen;
      if (endpoint !== base && endpoint !== 'all') continue;
      if (server !== base && !isOwn(server)) continue;
      for (const publicId of filter.taskIds) {
        const task = endpoint === 'all' ? needs.tasks.routeOf(publicId) : undefined;
        // A task that the hub does not know, for example after a restart, may belong to any server.
        if (!task || task.server === base)
          yield { listen, publicId, taskId: task?.taskId ?? publicId };
      }
    }
  }

  const mayHear = ({ principal }: SubscriptionStream, server: Server, taskId: string) =>
    needs.mayHearTask?.(principal, needs.baseOf(server), taskId) ?? true;

  return {
    /**
     * Opens a stream. Sends nothing before `acknowledge`, and the answer when the stream ends. Throws
     * HUB_SUBSCRIPTIONS_FULL.
     */
    open(
      call: Call,
      source: Endpoint,
      filter: Filter,
      isOwn: SubscriptionStream['isOwn'],
      closed: (listen: SubscriptionStream) => void,
    ) {
      const { id, session, responseStream } = call;
      const key = principalKey(call.principal);
      checkRoom(key, filter);
      const tag = { [metaKeys.subscriptionId]: id };
      const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
      promise.catch(() => undefined); // The promise may be rejected before it is awaited.
      const over = (): boolean => {
        if (!streams.delete(listen)) return false;
        count(key, -1, filter.taskIds.length);
        closed(listen);
        if (filter.taskIds.length > 0) needs.tasksChanged(session.endpoint);
        return true;
      };
      const listen: SubscriptionStream = {
        isAcknowledged: false,
        endpoint: session.endpoint,
        principal: call.principal,
        source,
        filter,
        isOwn,
        send(bytes) {
          if (listen.isAcknowledged) responseStream.send(tagged(bytes, tag));
        },
        isConnected: () => true,
        end() {
          if (!over()) return;
          const meta = `{"${metaKeys.subscriptionId}":${id}}`;
          resolve(encodeResult(id, `{"resultType":"complete","_meta":${meta}}`));
        },
      };
      setWork(call.cancellation, {
        cancel() {
          over();
          reject(new HubError('HUB_CALL_CANCELLED', 'the client no longer listens'));
        },
      });
      streams.add(listen);
      count(key, 1, filter.taskIds.length);
      return {
        listen,
        answer: promise,
        /** False once the stream has ended. */
        isOpen: () => streams.has(listen),
        /** Acknowledges the stream with the part of the filter that the hub honours. Notifications follow. */
        acknowledge(honoured: object): void {
          if (!streams.has(listen)) return;
          const method = 'notifications/subscriptions/acknowledged';
          listen.isAcknowledged = true;
          listen.send(encodeCall(undefined, method, { notifications: honoured }));
          if (filter.taskIds.length > 0) needs.tasksChanged(session.endpoint);
        },
      };
    },
    /** Announces a changed list, to all clients or to those for which `concerns` returns true. */
    listChanged(
      source: Endpoint,
      kind: ListKind,
      concerns: (principal: Principal) => boolean = () => true,
    ): void {
      const bytes = encodeCall(undefined, changeMethodOf(kind));
      const member = listMemberOf(kind);
      for (const listen of streams)
        if (isTold(listen, member, source) && concerns(listen.principal)) listen.send(bytes);
    },
    /** Forwards a task notification of the server to the streams that name the task and whose principal may get it. */
    task(server: Server, { bytes, params }: Notification): void {
      const id = stringAt(bytes, membersOf(bytes, params)?.get('taskId'));
      for (const { listen, publicId, taskId } of taskListeners(server))
        if (taskId === id && mayHear(listen, server, taskId))
          listen.send(withTaskId(bytes, params, taskId, publicId));
    },
    tasksOf: (server: Server): readonly string[] => [
      ...new Set(Array.from(taskListeners(server), ({ taskId }) => taskId)),
    ],
    isHeard: (instance: Server) => [...streams].some(({ source }) => source === instance),
    endAll(endpoint?: Endpoint): void {
      for (const listen of Array.from(streams))
        if (endpoint === undefined || listen.endpoint === endpoint) listen.end();
    },
  };
}

const full = (why: string) => retryable('HUB_SUBSCRIPTIONS_FULL', why);

/** Adds the id of the `subscriptions/listen` request to a notification. `tag` has the id as JSON text. */
function tagged(bytes: Buffer, tag: Readonly<Record<string, string>>): Buffer {
  const message = membersOf(bytes, { start: bytes.indexOf('{'), end: bytes.length });
  const params = message?.get('params');
  const inParams = membersOf(bytes, params) ?? new Map();
  const meta = membersOf(bytes, inParams.get('_meta'));
  return splice(bytes, metaEdits({ bytes, params }, inParams, meta, tag));
}

/** Maximum number of items that one `subscriptions/listen` request may name. */
const maxNamed = 1_000;
/** Maximum size of a `subscriptions/listen` request, in bytes. The request stays in memory as long as the stream. */
const maxRequestBytes = 256 * 1024;

/** Reads the filter in `params.notifications`. Throws HUB_REQUEST_INVALID if it has another shape. */
export function readFilter({ request, params }: Call): Filter {
  const { length } = request.bytes;
  if (length > maxRequestBytes)
    throw invalidRequest(
      `the request has ${length} bytes, and one to listen has at most ${maxRequestBytes} bytes. Name less in it, and the rest in another`,
    );
  const asked = valueOf(request.bytes, params.get('notifications'));
  if (!isObject(asked)) throw invalidRequest('"params.notifications" must be an object');
  const lists = listKinds.map(listMemberOf).filter(member => asked[member] === true);
  return {
    lists: new Set(lists),
    uris: strings(asked['resourceSubscriptions'], 'resourceSubscriptions'),
    taskIds: strings(asked['taskIds'], 'taskIds'),
  };
}

function strings(value: unknown, name: string): readonly string[] {
  if (value === undefined) return [];
  const list: unknown[] = Array.isArray(value) ? value : [undefined];
  const texts = list.filter(one => typeof one === 'string');
  if (texts.length !== list.length || list.length > maxNamed)
    throw invalidRequest(
      `"params.notifications.${name}" must be a list of at most ${maxNamed} strings`,
    );
  return [...new Set(texts)];
}
