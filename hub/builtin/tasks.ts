import { type Clock, HubError, isObject, messageOf, retryable } from '#core';
import { RpcError, rpcCodes } from '#jsonrpc';
import { metaKeys } from '#mcp';
import type { BuiltinTask, ToolResult } from './builtin-server.ts';

type Status = 'working' | 'completed' | 'failed' | 'cancelled';

type Entry = {
  readonly task: BuiltinTask;
  readonly maker: TaskMaker;
  readonly createdAt: number;
  readonly ttlMs: number;
  status: Status;
  updatedAt: number;
  message: string | undefined;
  /** Result of `tools/call`, or a tool error. Never rejects. */
  outcome: Promise<object>;
  /** Result or error of an ended task; undefined while the task works, and after a cancellation. */
  ended: { readonly result: object } | { readonly error: object } | undefined;
};

/** The client for which a task was created. */
export type TaskMaker = {
  /** True for the tasks extension of MCP 2026-07-28, false for the tasks of MCP 2025-11-25. */
  readonly isModern: boolean;
  /** Key of the client's principal. */
  readonly principal: string | undefined;
};

type Params = { readonly [name: string]: unknown };

type Needs = {
  readonly clock: Pick<Clock, 'after' | 'now'>;
  /** Sends a notification to the client of a task. `params` is JSON text. */
  readonly notify: (method: string, params: string) => void;
  /** Converts a tool's failure into a result. Rejects if the error cannot be a result. */
  readonly asResult: (result: Promise<ToolResult>) => Promise<object>;
};

const maxTasks = 1_000;
const hourMs = 3_600_000;
const longestMs = 24 * hourMs;
const pollMs = 1_000;

/**
 * Creates the MCP tasks of a built-in server: those of MCP 2025-11-25, "Tasks", and of the tasks extension of MCP
 * 2026-07-28. The router shows each client with a session only its own tasks.
 */
export function createBuiltinTasks({ clock, notify, asResult }: Needs) {
  const all = new Map<string, Entry>();

  const common = (entry: Entry) => ({
    taskId: entry.task.id,
    status: statusOf(entry),
    ...(entry.message !== undefined && { statusMessage: entry.message }),
    createdAt: new Date(entry.createdAt).toISOString(),
    lastUpdatedAt: new Date(entry.updatedAt).toISOString(),
  });
  const describe = (entry: Entry) => ({
    ...common(entry),
    ttl: entry.ttlMs,
    pollInterval: pollMs,
  });
  /** Describes a task in the format of the tasks extension. */
  const describeModern = (entry: Entry) => ({
    ...common(entry),
    ttlMs: entry.ttlMs,
    pollIntervalMs: pollMs,
    ...entry.ended,
  });

  function tell(entry: Entry, status: Status, message: string | undefined): void {
    entry.status = status;
    entry.message = message;
    entry.updatedAt = clock.now();
    if (entry.maker.isModern) notify('notifications/tasks', JSON.stringify(describeModern(entry)));
    else notify('notifications/tasks/status', JSON.stringify(describe(entry)));
  }

  /** Removes an ended task when its ttl, which counts from its creation, is over. */
  function expire(entry: Entry): void {
    const leftMs = Math.max(0, entry.createdAt + entry.ttlMs - clock.now());
    clock.after(leftMs, () => void all.delete(entry.task.id));
  }

  async function follow(entry: Entry, progressToken: string | undefined): Promise<object> {
    const { task } = entry;
    let progress = 0;
    const heard = task.changed(() => {
      const doing = task.doing();
      if (doing === undefined || doing === entry.message) return;
      tell(entry, 'working', doing);
      if (progressToken === undefined) return;
      const related = JSON.stringify({ [metaKeys.relatedTask]: { taskId: task.id } });
      // Inserted as JSON text: parsing would change a number beyond 2^53.
      const params = `{"progressToken":${progressToken},"progress":${++progress},"message":${JSON.stringify(doing)},"_meta":${related}}`;
      notify('notifications/progress', params);
    });
    try {
      const result = await asResult(task.result);
      const isFailed = isObject(result) && result['isError'] === true;
      entry.ended = { result };
      tell(entry, isFailed ? 'failed' : 'completed', undefined);
      return result;
    } catch (error) {
      const isCancelled = error instanceof HubError && error.code === 'HUB_CALL_CANCELLED';
      if (!isCancelled)
        entry.ended = { error: { code: rpcCodes.internalError, message: messageOf(error) } };
      tell(entry, isCancelled ? 'cancelled' : 'failed', messageOf(error));
      return { content: [{ type: 'text', text: messageOf(error) }], isError: true };
    } finally {
      heard[Symbol.dispose]();
      expire(entry);
    }
  }

  function require({ taskId }: Params, isModern: boolean): Entry {
    const entry = typeof taskId === 'string' ? all.get(taskId) : undefined;
    if (entry?.maker.isModern === isModern) return entry;
    throw new RpcError(
      rpcCodes.invalidParams,
      'HUB_NAME_UNKNOWN',
      `"params.taskId": no task is ${JSON.stringify(taskId)}. Tasks are forgotten after their ttl`,
    );
  }

  /** Returns the task of a stateless client. Throws as for an unknown task if another principal created it. */
  function requireOwn(params: Params, principal: string | undefined): Entry {
    const entry = require(params, true);
    return entry.maker.principal === principal ? entry : require({ taskId: undefined }, true);
  }

  return {
    /** Throws HUB_SERVER_BUSY if too many tasks are running, and HUB_REQUEST_INVALID for an invalid `task`. */
    check(wanted: unknown): void {
      readTtl(wanted);
      for (const [id, { status }] of all)
        if (all.size >= maxTasks && status !== 'working') all.delete(id);
      if (all.size >= maxTasks)
        throw retryable(
          'HUB_SERVER_BUSY',
          `${maxTasks} tasks work, as many as the hub takes. Call without "task", or later`,
        );
    },
    /** Adds a task, and returns the result for the call that created it. */
    add(
      task: BuiltinTask,
      wanted: unknown,
      progressToken: string | undefined,
      maker: TaskMaker,
    ): object {
      const now = clock.now();
      const entry: Entry = {
        task,
        maker,
        ended: undefined,
        createdAt: now,
        updatedAt: now,
        ttlMs: readTtl(wanted),
        status: 'working',
        message: task.doing(),
        outcome: Promise.resolve({}),
      };
      all.set(task.id, entry);
      const made = maker.isModern
        ? { resultType: 'task', ...describeModern(entry) }
        : { task: describe(entry) };
      entry.outcome = follow(entry, progressToken);
      return made;
    },
    get: (params: Params): object => describe(require(params, false)),
    list: (): object => ({
      tasks: [...all.values()].filter(({ maker }) => !maker.isModern).map(describe),
    }),
    /** Resolves with the result of the call when the task has ended. */
    async result(params: Params): Promise<object> {
      const { task, outcome } = require(params, false);
      const related = { [metaKeys.relatedTask]: { taskId: task.id } };
      return { ...(await outcome), _meta: related };
    },
    /** Cancels a task. Rejects with HUB_REQUEST_INVALID if the task has ended. */
    async cancel(params: Params): Promise<object> {
      const entry = require(params, false);
      if (entry.status !== 'working')
        throw new RpcError(
          rpcCodes.invalidParams,
          'HUB_REQUEST_INVALID',
          `"params.taskId": the task ${entry.task.id} is ${entry.status} already`,
        );
      await entry.task.cancel();
      await entry.outcome;
      return describe(entry);
    },
    getModern: (params: Params, principal: string | undefined): object =>
      describeModern(requireOwn(params, principal)),
    /** Cancels a task, and acknowledges the request. A task that has ended stays unchanged. */
    async cancelModern(params: Params, principal: string | undefined): Promise<object> {
      const entry = requireOwn(params, principal);
      if (entry.status === 'working') await entry.task.cancel();
      return {};
    },
    /** Validates the task only: tasks of built-in servers never ask for input. */
    updateModern(params: Params, principal: string | undefined): object {
      requireOwn(params, principal);
      return {};
    },
  };
}

/** Returns the status. In the tasks extension, a task whose tool returned an error is completed. */
const statusOf = ({ status, maker, ended }: Entry): Status =>
  maker.isModern && ended && 'result' in ended ? 'completed' : status;

/** Returns how long to keep a task, in milliseconds. Throws HUB_REQUEST_INVALID. */
function readTtl(wanted: unknown): number {
  const ttl = isObject(wanted) ? wanted['ttl'] : undefined;
  if (!isObject(wanted) || (ttl !== undefined && (typeof ttl !== 'number' || !(ttl >= 0))))
    throw new RpcError(
      rpcCodes.invalidParams,
      'HUB_REQUEST_INVALID',
      `"params.task": ${JSON.stringify(wanted)} is not allowed: write an object with "ttl" in milliseconds, or an empty one`,
    );
  return Math.min(ttl ?? hourMs, longestMs);
}
