import { HubError, isObject } from '#core';
import { RpcError, rpcCodes } from '#jsonrpc';
import { latestVersion, metaKeys, modernVersions, tasksExtension } from '#mcp';
import { type Principal, principalKey } from '#policy';
import { type ListKind, listMethods } from '#servers';
import { InputRequired } from '#upstream';
import type {
  BuiltinContext,
  BuiltinServer,
  BuiltinTool,
  ForeignResult,
  ToolResult,
} from './builtin-server.ts';
import type { createBuiltinTasks } from './tasks.ts';

/** Capabilities and name of the server, as declared in both eras. */
export type Identity = {
  readonly capabilities: object;
  readonly serverInfo: { readonly name: string; readonly version: string };
};

type BuiltinRequest = {
  readonly method: string;
  readonly params: { readonly [name: string]: unknown };
  /** Name of the item in the client's request, which depends on the endpoint. */
  readonly publicName: string | undefined;
  readonly context: BuiltinContext;
  readonly isModern: boolean;
  /** The token as JSON text. */
  readonly progressToken: string | undefined;
};

type Tasks = ReturnType<typeof createBuiltinTasks>;

/** True if a principal may list and use an item of this scope. */
const isAllowed = (scope: 'call' | 'administer', principal: Principal | undefined): boolean =>
  scope === 'call' || principal?.grants.administer === true;

/**
 * Returns the result of a request, without `resultType`, which only modern results have. Rejects with HubError for an
 * error response.
 */
export async function answerRequest(
  server: BuiltinServer,
  identity: Identity,
  tasks: Tasks,
  { method, params, publicName, context, isModern, progressToken }: BuiltinRequest,
): Promise<object> {
  const args = params['arguments'];
  switch (method) {
    case 'initialize':
      return { protocolVersion: latestVersion, ...identity };
    case 'server/discover':
      return {
        supportedVersions: modernVersions,
        capabilities: identity.capabilities,
        _meta: { [metaKeys.serverInfo]: identity.serverInfo },
        ...notCached,
      };
    case 'ping':
      return {};
    case 'tools/list':
      return listed(
        'tool',
        server.tools().filter(({ scope }) => isAllowed(scope, context.principal)),
      );
    case 'prompts/list':
      return listed('prompt', server.prompts());
    case 'resources/list':
      return listed('resource', server.resources);
    case 'resources/templates/list':
      return listed('template', []);
    case 'tools/call': {
      const tool = server.tools().find(({ name }) => name === params['name']);
      // Unknown, not forbidden: tools that a principal may not use are hidden from it.
      if (!tool || !isAllowed(tool.scope, context.principal)) throw unknown('tool', publicName);
      // MCP 2026-07-28 ignores the parameter `task` (SEP-2663).
      const ofModern = knowsTasks(params) ? {} : undefined;
      const wanted = isModern ? ofModern : params['task'];
      if (tool.begin && wanted !== undefined) {
        tasks.check(wanted);
        const maker = { isModern, principal: keyOf(context) };
        return tasks.add(await tool.begin(args, context), wanted, progressToken, maker);
      }
      if (wanted !== undefined && !isModern)
        throw new RpcError(
          rpcCodes.methodNotFound,
          'HUB_REQUEST_INVALID',
          `"params.task": ${publicName} makes no tasks. Leave "task" out`,
        );
      return await callTool(tool, args, context);
    }
    case 'prompts/get': {
      const prompt = server.prompts().find(({ name }) => name === params['name']);
      if (!prompt) throw unknown('prompt', publicName);
      const { description, text } = await prompt.get(args, context);
      return { description, messages: [{ role: 'user', content: { type: 'text', text } }] };
    }
    case 'resources/read': {
      const { uri } = params;
      const resource = server.resources.find(one => one.uri === uri);
      if (!resource)
        throw new RpcError(
          rpcCodes.invalidParams,
          'HUB_NAME_UNKNOWN',
          `${server.name} has no resource ${JSON.stringify(uri)}`,
          { uri },
        );
      const { mimeType } = resource;
      return { contents: [{ uri, mimeType, text: await resource.read() }], ...notCached };
    }
    case 'completion/complete':
      return { completion: { values: [] } };
  }
  const ofTask = server.hasTasks && (isModern ? modernTaskMethods : taskMethods).get(method);
  if (ofTask) return await ofTask(tasks, params, keyOf(context));
  throw new RpcError(
    rpcCodes.methodNotFound,
    'HUB_REQUEST_INVALID',
    `${server.name} has no method ${JSON.stringify(method)}`,
  );
}

type TaskMethod = (
  tasks: Tasks,
  params: BuiltinRequest['params'],
  principal: string | undefined,
) => object | Promise<object>;

/** Methods for tasks of MCP 2025-11-25. */
const taskMethods = new Map<string, TaskMethod>([
  ['tasks/get', (tasks, params) => tasks.get(params)],
  ['tasks/result', (tasks, params) => tasks.result(params)],
  ['tasks/cancel', (tasks, params) => tasks.cancel(params)],
  ['tasks/list', tasks => tasks.list()],
]);

/** Methods of the tasks extension of MCP 2026-07-28. */
const modernTaskMethods = new Map<string, TaskMethod>([
  ['tasks/get', (tasks, ...of) => tasks.getModern(...of)],
  ['tasks/update', (tasks, ...of) => tasks.updateModern(...of)],
  ['tasks/cancel', (tasks, ...of) => tasks.cancelModern(...of)],
]);

const keyOf = ({ principal }: BuiltinContext) => principal && principalKey(principal);

/** True if a stateless client declares that it accepts a task instead of a result. */
function knowsTasks({ _meta: meta }: BuiltinRequest['params']): boolean {
  const capabilities = isObject(meta) ? meta[metaKeys.clientCapabilities] : undefined;
  const extensions = isObject(capabilities) ? capabilities['extensions'] : undefined;
  return isObject(extensions) && tasksExtension in extensions;
}

/** Members of results in MCP 2026-07-28 that forbid caching. */
const notCached = { ttlMs: 0, cacheScope: 'private' } as const;

/** Removes the caching members, which clients of MCP 2025-11-25 and older do not know. */
export function asLegacyResult(result: object): object {
  const { ttlMs: _ttl, cacheScope: _scope, ...rest } = { ...notCached, ...result };
  return rest;
}

const listed = (kind: ListKind, items: readonly { readonly description: string }[]): object => ({
  [listMethods[kind].member]: items.map(({ description }): unknown => JSON.parse(description)),
  ...notCached,
});

async function callTool(
  tool: BuiltinTool,
  args: unknown,
  context: BuiltinContext,
): Promise<object> {
  try {
    return described(await tool.call(args, context));
  } catch (error) {
    if (error instanceof InputRequired) return error.result;
    if (context.signal.aborted || !(error instanceof HubError)) throw error;
    return asToolError(error);
  }
}

/** Resolves with the result of a task. Rejects if the task was cancelled or failed because of a bug. */
export async function asResult(result: Promise<ToolResult>): Promise<object> {
  try {
    return described(await result);
  } catch (error) {
    if (!(error instanceof HubError) || error.code === 'HUB_CALL_CANCELLED') throw error;
    return asToolError(error);
  }
}

function described(result: ToolResult | ForeignResult) {
  if ('content' in result) return result;
  const { text, structured, isError } = result;
  return {
    content: [{ type: 'text', text }],
    structuredContent: structured,
    ...(isError && { isError }),
  };
}

/** A tool error, as its text lets a model correct the call. Models may never see protocol errors. */
const asToolError = ({ message }: HubError) => ({
  content: [{ type: 'text', text: message }],
  isError: true,
});

const unknown = (kind: ListKind, name: string | undefined) =>
  new HubError(
    'HUB_NAME_UNKNOWN',
    `no ${kind} is called ${JSON.stringify(name)}. Its server may not have been started yet: "agenthub list" shows their states`,
  );

/** Returns the `params` of a message; an empty object if it has none. */
export function paramsOf(message: unknown): BuiltinRequest['params'] {
  const params = isObject(message) ? message['params'] : undefined;
  return isObject(params) ? params : {};
}
