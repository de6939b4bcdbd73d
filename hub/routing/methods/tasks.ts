import { HubError, isObject } from '#core';
import { RpcError, encodeResult, metaKeys, rawText, rpcCodes, valueOf } from '#rpc';
import type { Server } from '#servers';
import { type Call, needString } from '../call.ts';
import { type Method, serverOf } from '../method.ts';
import { instanceFor, relay } from '../relay.ts';
import { readAnswer } from '../send.ts';
import { tasksIn } from '../tasks.ts';

const taskIdOf = (call: Call): string =>
  needString(call, call.params, 'taskId', 'params.taskId').text;

/** A task of the session, at whatever server it is; that of another session is unknown to it. */
const reachTask: Method = (call, needs) =>
  relay(call, [], needs.tasks.get(call.session, taskIdOf(call)), needs);

/** The server lists the tasks of all its clients: those of the session are left. */
const listOne: Method = async (call, needs) => {
  const bytes = await relay(call, [], serverOf(call), needs);
  const answer = readAnswer(bytes);
  if (answer.failed) return bytes;
  const own = new Set(needs.tasks.of(call.session).map(({ taskId }) => taskId));
  const result = valueOf(bytes, answer.payload);
  const next = isObject(result) ? result['nextCursor'] : undefined;
  const tail = next === undefined ? '' : `,"nextCursor":${JSON.stringify(next)}`;
  const tasks = tasksIn(answer, taskId => own.has(taskId)).join(',');
  return encodeResult(call.id, `{"tasks":[${tasks}]${tail}}`);
};

/** Of more tasks of one session, the newest are listed. */
const maxListed = 100;

/** Each server is asked for what it knows of the session's tasks; one that is gone has none. */
const listAll: Method = async (call, needs) => {
  const { id, session } = call;
  const known = needs.tasks.of(session).slice(-maxListed);
  const told = await Promise.all(
    known.map(async ({ server, taskId }) => {
      try {
        const { config, running } = instanceFor(server, call, needs);
        const answer = await running?.upstream.request(
          'tasks/get',
          { taskId },
          config.callTimeoutMs,
        );
        return answer && rawText(answer.bytes, answer.payload);
      } catch (error) {
        if (error instanceof HubError) return undefined;
        throw error;
      }
    }),
  );
  return encodeResult(id, `{"tasks":[${told.filter(text => text !== undefined).join(',')}]}`);
};

const reach = ['tasks/get', 'tasks/result', 'tasks/cancel'].map(name => [name, reachTask] as const);

/** Tasks of clients with a session (MCP 2025-11-25). */
export const tasksOfOne = [...reach, ['tasks/list', listOne]] as const;
export const tasksOfAll = [...reach, ['tasks/list', listAll]] as const;

/** The name of the extension by which the stateless revision has tasks. */
const extension = 'io.modelcontextprotocol/tasks';
const extensionMethods = ['tasks/get', 'tasks/update', 'tasks/cancel'];

/** Whether the client knows tasks of that extension, so that an answer may be one. */
export function knowsTasks({ request, meta }: Call): boolean {
  const span = meta?.get(metaKeys.clientCapabilities);
  // Nearly no client does: most are known by this without being read.
  if (!span || request.bytes.subarray(span.start, span.end).indexOf(extension) < 0) return false;
  const capabilities = valueOf(request.bytes, span);
  const extensions = isObject(capabilities) ? capabilities['extensions'] : undefined;
  return isObject(extensions) && extension in extensions;
}

/** A server that keeps sessions would give a client without one the tasks of all others. */
async function needModern(server: Server, method: string): Promise<void> {
  const { introduction } = server.running ?? (await server.ready());
  if (introduction.era === 'legacy')
    throw new RpcError(
      rpcCodes.methodNotFound,
      'HUB_REQUEST_INVALID',
      `${server.config.name} has no ${method} for clients without a session`,
    );
}

const reachAtOne: Method = async (call, needs) => {
  await needModern(serverOf(call), call.request.method);
  return await relay(call, [], serverOf(call), needs);
};

const reachAtAny: Method = async (call, needs) => {
  const taskId = taskIdOf(call);
  const server = needs.tasks.routeOf(taskId);
  if (!server)
    throw new HubError('HUB_NAME_UNKNOWN', `"params.taskId": no task is ${JSON.stringify(taskId)}`);
  return await relay(call, [], server, needs);
};

/** The same for clients without a session (the tasks extension of MCP 2026-07-28). */
export const modernTasksOfOne = [...extensionMethods, 'tasks/list', 'tasks/result'].map(
  name => [name, reachAtOne] as const,
);
export const modernTasksOfAll = extensionMethods.map(name => [name, reachAtAny] as const);
