import { HubError, isObject } from '#core';
import { encodeResult, membersOf, rawText, readAnswer, valueOf } from '#jsonrpc';
import { keepsSessions, metaKeys, tasksExtension } from '#mcp';
import type { Server } from '#servers';
import {
  type Call,
  type ResolvedCall,
  callTo,
  methodNotFound,
  ownCall,
  requireString,
} from '../call.ts';
import { type Task, inPayload, tasksIn } from '../tasks/tasks.ts';
import { type Method, type MethodNeeds, own, serverOf } from './method.ts';

const taskIdOf = (call: Call) => requireString(call, call.params, 'taskId', 'params.taskId');

/** Forwards a request about a task. The server gets its own task id; its answer gets the client's task id. */
function reach(call: Call, { server, taskId, publicId }: Task): ResolvedCall {
  const { span, text } = taskIdOf(call);
  if (taskId === publicId) return callTo(server, call, { name: text });
  return callTo(server, call, {
    name: text,
    edits: [{ span, text: JSON.stringify(taskId) }],
    restored: bytes => inPayload(bytes, taskId, publicId),
  });
}

/** Forwards a request about a task of the session to the task's server. Tasks of other sessions are unknown. */
const reachTask: Method = (call, needs) =>
  reach(call, needs.tasks.get(call.session, taskIdOf(call).text));

/** Returns the tasks of a session that its client may see. */
const listable = (call: Call, { access, tasks }: Pick<MethodNeeds, 'access' | 'tasks'>) =>
  tasks.of(call.session).filter(task => access.mayListTask(call, task));

const noTasks = own(({ id }) => encodeResult(id, '{"tasks":[]}'), serverOf);

/** Lists the tasks of the session at one server. The server returns the tasks of all clients, which the hub filters. */
const listOne: Method = (call, needs) => {
  if (!needs.access.mayUseServer(call, serverOf(call))) return noTasks(call, needs);
  return callTo(serverOf(call), call, {
    restored(bytes) {
      const answer = readAnswer(bytes);
      if (answer.failed) return bytes;
      const known = new Set(listable(call, needs).map(({ taskId }) => taskId));
      const tasks = tasksIn(answer, taskId => known.has(taskId)).join(',');
      const next = membersOf(bytes, answer.payload)?.get('nextCursor');
      const tail = next ? `,"nextCursor":${rawText(bytes, next)}` : '';
      return encodeResult(call.id, `{"tasks":[${tasks}]${tail}}`);
    },
  });
};

/** Maximum number of tasks in a list. Older tasks are omitted. */
const maxListed = 100;

/** Lists the tasks of the session at all servers. Servers that are not running are not asked. */
const listAll = own(async (call, needs) => {
  const { id } = call;
  const known = listable(call, needs).slice(-maxListed);
  const told = await Promise.all(
    known.map(async ({ server, taskId, publicId }) => {
      try {
        const { config, running } = needs.clients.instanceFor(server, call);
        const answer = await running?.upstream.request(
          'tasks/get',
          { taskId },
          config.callTimeoutMs,
        );
        if (!answer) return undefined;
        const renamed = inPayload(answer.bytes, taskId, publicId);
        return rawText(renamed, readAnswer(renamed).payload);
      } catch (error) {
        if (error instanceof HubError) return undefined;
        throw error;
      }
    }),
  );
  return encodeResult(id, `{"tasks":[${told.filter(text => text !== undefined).join(',')}]}`);
});

const byId = ['tasks/get', 'tasks/result', 'tasks/cancel'].map(name => [name, reachTask] as const);

/** Task methods for clients with a session (MCP 2025-11-25). */
export const tasksOfOne = [...byId, ['tasks/list', listOne]] as const;
export const tasksOfAll = [...byId, ['tasks/list', listAll]] as const;

const extensionMethods = ['tasks/get', 'tasks/update', 'tasks/cancel'];

/** True if the client supports the tasks extension, so that an answer may be a task. */
export function knowsTasks({ request, meta }: Call): boolean {
  const span = meta?.get(metaKeys.clientCapabilities);
  // Few clients support the extension. The text search avoids parsing for all others.
  if (!span || request.bytes.subarray(span.start, span.end).indexOf(tasksExtension) < 0)
    return false;
  const capabilities = valueOf(request.bytes, span);
  const extensions = isObject(capabilities) ? capabilities['extensions'] : undefined;
  return isObject(extensions) && tasksExtension in extensions;
}

/** Throws if the server has sessions: it would show a client without a session the tasks of all other clients. */
async function needModern(server: Server, method: string): Promise<void> {
  const { serverInfo } = server.running ?? (await server.ready());
  if (keepsSessions(serverInfo))
    throw methodNotFound(`${server.config.name} has no ${method} for clients without a session`);
}

const reachAtOne: Method = (call, needs) => {
  const server = serverOf(call);
  const answer = async () => {
    await needModern(server, call.request.method);
    return await needs.relay(callTo(server, call));
  };
  return ownCall(call, answer, server);
};

const reachAtAny: Method = (call, needs) => {
  const { text } = taskIdOf(call);
  const task = needs.tasks.routeOf(text);
  if (!task)
    throw new HubError('HUB_NAME_UNKNOWN', `"params.taskId": no task is ${JSON.stringify(text)}`);
  return reach(call, task);
};

/** Methods that the tasks extension does not have. A server that has them would return the tasks of all clients. */
const removedMethods = ['tasks/list', 'tasks/result'];

const refuseRemoved: Method = call =>
  ownCall(
    call,
    async () => {
      throw methodNotFound(`MCP 2026-07-28 has no method ${JSON.stringify(call.request.method)}`);
    },
    serverOf(call),
  );

/** Task methods for clients without a session (the tasks extension of MCP 2026-07-28). */
export const modernTasksOfOne = [
  ...extensionMethods.map(name => [name, reachAtOne] as const),
  ...removedMethods.map(name => [name, refuseRemoved] as const),
];
export const modernTasksOfAll = extensionMethods.map(name => [name, reachAtAny] as const);
