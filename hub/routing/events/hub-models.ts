import { type JsonObject, HubError, isObject } from '#core';
import { errorAnswer, rawText, valueOf } from '#jsonrpc';
import { principalKey } from '#policy';
import type { Server } from '#servers';
import type { ServerConnection, ServerRequest } from '#upstream';
import { methodNotFound } from '../call.ts';
import { createHubRequests } from './hub-requests.ts';
import type { ServerLogs } from './server-logs.ts';

/** Runs prompts on the models of the hub, and lists them. Rejects with HubError. */
export interface ModelAnswerer {
  run(
    params: unknown,
    context: {
      readonly caller: { readonly client: string; readonly kind: 'server' };
      readonly progress?: ((text: string) => void) | undefined;
    },
    signal: AbortSignal,
  ): Promise<JsonObject>;
  list(signal: AbortSignal): Promise<JsonObject>;
}

/** Prefix of the hub's own methods, which it offers to its own servers in addition to MCP. */
const ownMethods = 'agenthub/';

export type HubModels = ReturnType<typeof createHubModels>;

/**
 * Answers the requests of the hub's own server `ollama-mcp` to the models of the hub. Only the server that the hub
 * launched from its own image or file gets answers; for any other server these methods do not exist.
 */
export function createHubModels(answerer: ModelAnswerer | undefined, logs: ServerLogs) {
  const requests = createHubRequests('a request for a model', logs);

  function workOf(
    server: Server,
    { request, connection }: ServerRequest,
  ): ((signal: AbortSignal) => Promise<JsonObject>) | undefined {
    const { config } = server;
    const { method, bytes } = request;
    if (config.launch.kind !== 'local' || config.launch.own !== 'ollama-mcp') return undefined;
    if (method !== 'agenthub/models/run' && method !== 'agenthub/models/list') return undefined;
    const value = request.params && valueOf(bytes, request.params);
    const params = isObject(value) ? value : {};
    return async signal => {
      if (!answerer) throw new HubError('HUB_MODEL_UNKNOWN', 'the hub has no models');
      if (method === 'agenthub/models/list') return await answerer.list(signal);
      const meta = params['_meta'];
      const progressToken = isObject(meta) ? meta['progressToken'] : undefined;
      let pieces = 0;
      const tell = (message: string) =>
        connection.notify('notifications/progress', {
          progressToken,
          progress: ++pieces,
          message,
        });
      const caller = {
        client: clientOf(server, connection, params['call']),
        kind: 'server',
      } as const;
      const progress = progressToken === undefined ? undefined : tell;
      return await answerer.run(params, { caller, progress }, signal);
    };
  }

  /** Returns the client that takes the turn at the models: the caller of the tool call that the server names. */
  function clientOf({ config }: Server, connection: ServerConnection, call: unknown): string {
    const principal = typeof call === 'number' ? connection.callerOf(call)?.principal : undefined;
    return principal ? principalKey(principal) : `server:${config.name}`;
  }

  return {
    isOwn: (method: string): boolean => method.startsWith(ownMethods),
    /** Answers a request with a method of the prefix `agenthub/`. Never rejects: the server gets an error. */
    async answerRequest(server: Server, serverRequest: ServerRequest): Promise<void> {
      const work = workOf(server, serverRequest);
      if (work) return await requests.reply(server, serverRequest, work);
      const { method, bytes, id } = serverRequest.request;
      const what = `the hub does not offer ${JSON.stringify(method)} to ${server.config.name}`;
      serverRequest.answer(errorAnswer(rawText(bytes, id), methodNotFound(what)));
    },
    withdrawn: requests.withdrawn,
    sourceGone: requests.sourceGone,
  };
}
