import { type Clock, HubError, createAbortScope, isObject, unlessAborted } from '#core';
import {
  RpcError,
  encodeResult,
  membersOf,
  rawText,
  readAnswer,
  rpcCodes,
  splice,
  stringAt,
} from '#jsonrpc';
import { latestVersion, metaKeys, modernVersions } from '#mcp';
import type { Principal } from '#policy';
import { type ListKind, listMethods } from '#servers';
import type { Caller, Upstream } from '#upstream';
import type { BuiltinContext, BuiltinServer, BuiltinTool, ToolResult } from './builtin-server.ts';
import { createBuiltinTasks } from './tasks.ts';

/** What the server says of itself, in either era. */
export type Identity = {
  readonly capabilities: object;
  readonly serverInfo: { readonly name: string; readonly version: string };
};

/** Answers requests in this process, in the era of each request: no bridge stands between. */
export function createBuiltinUpstream(
  server: BuiltinServer,
  identity: Identity,
  {
    clock,
    notify,
  }: {
    readonly clock: Pick<Clock, 'after' | 'now'>;
    /** Sends a notification to the client of a task. `params` is JSON text. */
    readonly notify: (method: string, params: string) => void;
  },
): Upstream {
  const tasks = createBuiltinTasks({ clock, notify, asResult });
  let inFlight = 0;
  let relayed = 0;

  return {
    relay({ request, edits, answered, failed }, caller, timeoutMs, waitedMs = 0) {
      const { method } = request;
      const asked = membersOf(request.bytes, request.params);
      const publicName = stringAt(request.bytes, asked?.get('name'));
      const params = paramsOf(JSON.parse(splice(request.bytes, edits).toString()));
      const meta = isObject(params['_meta']) ? params['_meta'] : {};
      const isModern = metaKeys.protocolVersion in meta;
      const scope = createAbortScope([], {
        clock,
        limitMs: timeoutMs - waitedMs,
        reason: () =>
          new HubError(
            'HUB_CALL_TIMEOUT',
            `${server.name} did not answer ${method} within ${timeoutMs / 1000} s`,
          ),
      });
      const context = {
        principal: caller.principal,
        client: clientNameIn(
          isModern
            ? meta[metaKeys.clientInfo]
            : caller.owner.client && JSON.parse(caller.owner.client.clientInfo),
        ),
        signal: scope.signal,
        progress: createProgress(caller),
      };
      inFlight++;
      relayed++;
      const work = answerRequest(server, identity, tasks, {
        method,
        params,
        publicName,
        context,
        isModern,
        progressToken: caller.progressToken,
      });
      const answer = unlessAborted(work, scope.signal)
        .then(
          result => {
            const text = isModern ? { resultType: 'complete', ...result } : asLegacyResult(result);
            const id = rawText(request.bytes, request.id);
            return answered(readAnswer(encodeResult(id, JSON.stringify(text))));
          },
          (error: unknown) => {
            // Anything else is a bug, which the router logs.
            throw error instanceof HubError ? failed(error) : error;
          },
        )
        .finally(() => {
          inFlight--;
          scope[Symbol.dispose]();
        });
      return {
        answer,
        cancel: reason =>
          scope.abort(
            new HubError(
              'HUB_CALL_CANCELLED',
              `${method} was cancelled${reason === undefined ? '' : `: ${reason}`}`,
            ),
          ),
      };
    },
    async request(method, params) {
      const context = {
        principal: undefined,
        client: undefined,
        signal: new AbortController().signal,
        progress: () => {},
      };
      const request = {
        method,
        params: paramsOf({ params }),
        publicName: undefined,
        context,
        isModern: false,
        progressToken: undefined,
      };
      const result = await answerRequest(server, identity, tasks, request);
      return readAnswer(encodeResult('0', JSON.stringify(result)));
    },
    listen() {
      throw new TypeError('a server of the hub itself announces changes by its events');
    },
    notify() {},
    forward() {},
    onlyCaller: () => (inFlight === 0 ? 'none' : 'several'),
    onlyOwner: () => (relayed === 0 ? 'none' : 'several'),
    isAtWork: () => inFlight > 0,
    inFlight: () => inFlight,
    relayed: () => relayed,
    fail() {},
  };
}

/** The name in the `clientInfo` of a request or of a session. */
function clientNameIn(clientInfo: unknown): string | undefined {
  const name = isObject(clientInfo) ? clientInfo['name'] : undefined;
  return typeof name === 'string' ? name : undefined;
}

/** Numbers the notifications: MCP requires that progress increases. */
function createProgress({ responseStream, progressToken }: Caller): BuiltinContext['progress'] {
  let progress = 0;
  if (progressToken === undefined) return () => {};
  return message =>
    responseStream.send(
      Buffer.from(
        // The token's own text: a number beyond 2^53 must come back as it was.
        `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${progressToken},"progress":${++progress},"message":${JSON.stringify(message)}}}`,
      ),
    );
}

type BuiltinRequest = {
  readonly method: string;
  readonly params: { readonly [name: string]: unknown };
  /** The name that the client used for the item, on whichever endpoint. */
  readonly publicName: string | undefined;
  readonly context: BuiltinContext;
  readonly isModern: boolean;
  /** As JSON text. */
  readonly progressToken: string | undefined;
};

type Tasks = ReturnType<typeof createBuiltinTasks>;

/** Whether a principal is listed an item and may use it. */
const isAllowed = (scope: 'call' | 'administer', principal: Principal | undefined): boolean =>
  scope === 'call' || principal?.grants.administer === true;

/**
 * The result of a request, without the members that only modern results have. Rejects with HubError for an error
 * answer.
 */
async function answerRequest(
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
      // Unknown, not forbidden: what a principal may not use does not exist for it.
      if (!tool || !isAllowed(tool.scope, context.principal)) throw unknown('tool', publicName);
      const { task } = params;
      if (task !== undefined && tool.begin && !isModern) {
        tasks.check(task);
        return tasks.add(await tool.begin(args, context), task, progressToken);
      }
      if (task !== undefined)
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
  const ofTask = server.hasTasks && !isModern && taskMethods.get(method);
  if (ofTask) return await ofTask(tasks, params);
  throw new RpcError(
    rpcCodes.methodNotFound,
    'HUB_REQUEST_INVALID',
    `${server.name} has no method ${JSON.stringify(method)}`,
  );
}

const taskMethods = new Map<
  string,
  (tasks: Tasks, params: BuiltinRequest['params']) => object | Promise<object>
>([
  ['tasks/get', (tasks, params) => tasks.get(params)],
  ['tasks/result', (tasks, params) => tasks.result(params)],
  ['tasks/cancel', (tasks, params) => tasks.cancel(params)],
  ['tasks/list', tasks => tasks.list()],
]);

/** Members of MCP 2026-07-28: clients must ask again. */
const notCached = { ttlMs: 0, cacheScope: 'private' } as const;

/** Removes from a result what clients of 2025-11-25 and older do not know. */
function asLegacyResult(result: object): object {
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
    if (context.signal.aborted || !(error instanceof HubError)) throw error;
    return asToolError(error);
  }
}

/** The result of a task. Rejects if it was cancelled, or failed by a bug. */
async function asResult(result: Promise<ToolResult>): Promise<object> {
  try {
    return described(await result);
  } catch (error) {
    if (!(error instanceof HubError) || error.code === 'HUB_CALL_CANCELLED') throw error;
    return asToolError(error);
  }
}

const described = ({ text, structured, isError }: ToolResult) => ({
  content: [{ type: 'text', text }],
  structuredContent: structured,
  ...(isError && { isError }),
});

/** A model can correct its call by the text of a tool error; a protocol error it may never see. */
const asToolError = ({ message }: HubError) => ({
  content: [{ type: 'text', text: message }],
  isError: true,
});

const unknown = (kind: ListKind, name: string | undefined) =>
  new HubError(
    'HUB_NAME_UNKNOWN',
    `no ${kind} is called ${JSON.stringify(name)}. Its server may not have been started yet: GET /servers shows their states`,
  );

/** The params of a message, which is an object with or without them. */
function paramsOf(message: unknown): BuiltinRequest['params'] {
  const params = isObject(message) ? message['params'] : undefined;
  return isObject(params) ? params : {};
}
