import {
  type Clock,
  type HubError,
  type JsonObject,
  type Log,
  isJsonObject,
  isObject,
  messageOf,
} from '#core';
import { RpcError, encodeResult, errorAnswer, rawText, rpcCodes, valueOf } from '#jsonrpc';
import type { ModelBudget, ModelSampling } from '#models';
import type { PrincipalRequests } from '#routing';
import type { Server } from '#servers';
import type { ServerNotification, ServerRequest } from '#upstream';
import { type GrantedServer, createGrantedStart } from './granted-servers.ts';
import type { AgentDesk } from './host-types.ts';

type Needs = {
  readonly clock: Clock;
  readonly desk: AgentDesk;
  readonly sampling: ModelSampling;
  readonly budget: ModelBudget;
  /** Calls the tools of the hub that the agent is granted. */
  readonly session: PrincipalRequests;
  /** The servers of the config. */
  readonly servers: { readonly all: readonly GrantedServer[] };
  readonly log: Log;
};

/** Name of the tool that sends a message to another agent. The hub answers it itself. */
const useAgentTool = 'use_agent';

/**
 * Answers requests of an agent: completions by models of the hub, and lists and calls of granted tools. Rejects other
 * methods.
 */
export function createGateway(
  id: string,
  server: Pick<Server, 'changed' | 'notified' | 'running' | 'serverRequest'>,
  needs: Needs,
): Disposable {
  const { clock, desk, sampling, budget, session, servers, log } = needs;
  const caller = { client: `agent:${id}`, kind: 'agent' } as const;
  const startGranted = createGrantedStart(clock);
  /** Requests under way by their id as JSON text. */
  const pending = new Map<string, AbortController>();

  async function createMessage(params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const { _meta: meta } = params;
    const token = isObject(meta) ? meta['progressToken'] : undefined;
    const { model } = desk.settings(id);
    let pieces = 0;
    const progress = (text: string) => {
      desk.heard(id, { type: 'text', text });
      if (token === undefined) return;
      server.running?.upstream.notify('notifications/progress', {
        progressToken: token,
        progress: ++pieces,
        message: text,
      });
    };
    for (const { name, isError } of resultsIn(params))
      desk.heard(id, { type: 'tool_result', name, isError });
    const result = await sampling.answer(params, { caller, model, budget, progress }, signal);
    for (const { type, name, input } of blocksOf(result['content']))
      if (type === 'tool_use' && typeof name === 'string')
        desk.heard(id, { type: 'tool', name, ...(isJsonObject(input) && { input }) });
    return result;
  }

  /** Shows in the conversation that a call waits for a person's approval. */
  const waiting = (text: string): void => desk.heard(id, { type: 'text', text: `[${text}]\n` });

  const callTool = async (params: JsonObject, signal: AbortSignal): Promise<JsonObject> =>
    params['name'] === useAgentTool
      ? await desk.useAgent(id, params['arguments'], signal)
      : await session.request('tools/call', params, signal, { waiting });

  async function answer(method: string, params: JsonObject, signal: AbortSignal) {
    switch (method) {
      case 'sampling/createMessage':
        return await createMessage(params, signal);
      case 'tools/list':
        if (params['cursor'] === undefined)
          await startGranted(desk.settings(id).grants, servers.all, signal);
        return await session.request('tools/list', params, signal);
      case 'tools/call':
        return await callTool(params, signal);
      default:
        throw new RpcError(
          rpcCodes.methodNotFound,
          'HUB_REQUEST_INVALID',
          `${method} is not a method that the hub offers to agents`,
        );
    }
  }

  async function handle({ request, answer: send }: ServerRequest): Promise<void> {
    const key = rawText(request.bytes, request.id);
    const params = valueOf(request.bytes, request.params);
    const controller = new AbortController();
    pending.set(key, controller);
    try {
      const result = await answer(
        request.method,
        isJsonObject(params) ? params : {},
        controller.signal,
      );
      send(encodeResult(key, JSON.stringify(result)));
    } catch (error) {
      log.info(
        { method: request.method, error: messageOf(error) },
        'a request of the agent failed',
      );
      send(errorAnswer(key, error));
    } finally {
      if (pending.get(key) === controller) pending.delete(key);
    }
  }

  function notified({ bytes, method, params }: ServerNotification): void {
    const told = method === 'notifications/cancelled' && valueOf(bytes, params);
    if (isObject(told)) pending.get(JSON.stringify(told['requestId']))?.abort(cancelled());
  }

  /** Aborts all requests: the container that sent them has ended. */
  function abortAll(): void {
    for (const controller of pending.values()) controller.abort(cancelled());
  }

  const stack = new DisposableStack();
  stack.use(
    server.serverRequest(request => {
      handle(request).catch((error: unknown) =>
        log.debug({ error: messageOf(error) }, 'the agent has ended before its answer'),
      );
    }),
  );
  stack.use(server.notified(notified));
  stack.use(
    server.changed(({ state }) => {
      if (state !== 'running') abortAll();
    }),
  );
  stack.defer(() => session.close('the agent has ended'));
  stack.defer(abortAll);
  return stack;
}

const blocksOf = (content: unknown) => (Array.isArray(content) ? content.filter(isObject) : []);

/** Yields the tool results in the newest message. The names of the tools are in the message before. */
function* resultsIn({ messages }: JsonObject) {
  const all = blocksOf(messages);
  const calls = blocksOf(all.at(-2)?.['content']);
  const names = new Map(calls.map(({ id, name }) => [id, name]));
  for (const { type, toolUseId, isError } of blocksOf(all.at(-1)?.['content'])) {
    if (type !== 'tool_result') continue;
    const name = names.get(toolUseId);
    if (typeof name === 'string') yield { name, isError: isError === true };
  }
}

const cancelled = (): HubError =>
  new RpcError(rpcCodes.internalError, 'HUB_CALL_CANCELLED', 'the request was cancelled');
