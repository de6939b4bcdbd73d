import { type Clock, HubError, isObject, messageOf, retryable } from '#core';
import { RpcError, rpcCodes } from '#jsonrpc';
import { metaKeys } from '#mcp';
import type { BuiltinTask, ToolResult } from './builtin-server.ts';

type Status = 'working' | 'completed' | 'failed' | 'cancelled';

type Entry = {
  readonly task: BuiltinTask;
  readonly createdAt: number;
  readonly ttlMs: number;
  status: Status;
  updatedAt: number;
  message: string | undefined;
  /** The result of `tools/call`. Never rejects. */
  outcome: Promise<object>;
};

type Needs = {
  readonly clock: Pick<Clock, 'after' | 'now'>;
  /** Sends a notification to the client of a task. `params` is JSON text. */
  readonly notify: (method: string, params: string) => void;
  /** The result of a call that failed. Rejects with an error that is no result. */
  readonly asResult: (result: Promise<ToolResult>) => Promise<object>;
};

const maxTasks = 1_000;
const hourMs = 3_600_000;
const longestMs = 24 * hourMs;
const pollMs = 1_000;

/** The tasks of one of the hub's own servers (MCP 2025-11-25, "Tasks"). The router shows each client only its own. */
export function createBuiltinTasks({ clock, notify, asResult }: Needs) {
  const all = new Map<string, Entry>();

  const describe = (entry: Entry) => ({
    taskId: entry.task.id,
    status: entry.status,
    ...(entry.message !== undefined && { statusMessage: entry.message }),
    createdAt: new Date(entry.createdAt).toISOString(),
    lastUpdatedAt: new Date(entry.updatedAt).toISOString(),
    ttl: entry.ttlMs,
    pollInterval: pollMs,
  });

  function tell(entry: Entry, status: Status, message: string | undefined): void {
    entry.status = status;
    entry.message = message;
    entry.updatedAt = clock.now();
    notify('notifications/tasks/status', JSON.stringify(describe(entry)));
  }

  /** Keeps an ended task for its time, from its creation on. */
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
      // The token's own text: a number beyond 2^53 must come back as it was.
      const params = `{"progressToken":${progressToken},"progress":${++progress},"message":${JSON.stringify(doing)},"_meta":${related}}`;
      notify('notifications/progress', params);
    });
    try {
      const result = await asResult(task.result);
      const isFailed = isObject(result) && result['isError'] === true;
      tell(entry, isFailed ? 'failed' : 'completed', undefined);
      return result;
    } catch (error) {
      const isCancelled = error instanceof HubError && error.code === 'HUB_CALL_CANCELLED';
      tell(entry, isCancelled ? 'cancelled' : 'failed', messageOf(error));
      return { content: [{ type: 'text', text: messageOf(error) }], isError: true };
    } finally {
      heard[Symbol.dispose]();
      expire(entry);
    }
  }

  function require(params: { readonly [name: string]: unknown }): Entry {
    const { taskId } = params;
    const entry = typeof taskId === 'string' ? all.get(taskId) : undefined;
    if (entry) return entry;
    throw new RpcError(
      rpcCodes.invalidParams,
      'HUB_NAME_UNKNOWN',
      `"params.taskId": no task is ${JSON.stringify(taskId)}. Tasks are forgotten after their ttl`,
    );
  }

  return {
    /** Throws HUB_SERVER_BUSY if too many tasks work, and HUB_REQUEST_INVALID for a wrong `task`. */
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
    /** Begins to follow a task, and returns the result of the call that made it. */
    add(task: BuiltinTask, wanted: unknown, progressToken: string | undefined): object {
      const now = clock.now();
      const entry: Entry = {
        task,
        createdAt: now,
        updatedAt: now,
        ttlMs: readTtl(wanted),
        status: 'working',
        message: task.doing(),
        outcome: Promise.resolve({}),
      };
      all.set(task.id, entry);
      const made = { task: describe(entry) };
      entry.outcome = follow(entry, progressToken);
      return made;
    },
    get: (params: { readonly [name: string]: unknown }): object => describe(require(params)),
    list: (): object => ({ tasks: Array.from(all.values(), describe) }),
    /** The result of the call, when the task has ended. */
    async result(params: { readonly [name: string]: unknown }): Promise<object> {
      const { task, outcome } = require(params);
      const related = { [metaKeys.relatedTask]: { taskId: task.id } };
      return { ...(await outcome), _meta: related };
    },
    /** Rejects with HUB_REQUEST_INVALID for a task that has ended. */
    async cancel(params: { readonly [name: string]: unknown }): Promise<object> {
      const entry = require(params);
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
  };
}

/** Time in which a task is kept, in milliseconds. Throws HUB_REQUEST_INVALID. */
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
