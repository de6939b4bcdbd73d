import { type JsonObject, type Log, HubError, messageOf, retryable } from '#core';
import {
  type Notification,
  encodeResult,
  errorAnswer,
  membersOf,
  rawText,
  valueOf,
} from '#jsonrpc';
import type { Server } from '#servers';
import type { ServerRequest } from '#upstream';

/** Answers sampling/createMessage by the models of the hub. Rejects with HubError. */
export interface SamplingAnswerer {
  answer(
    params: unknown,
    context: { readonly caller: { readonly client: string; readonly kind: 'server' } },
    signal: AbortSignal,
  ): Promise<JsonObject>;
}

const method = 'sampling/createMessage';
/** Maximum number of requests of a server that the hub answers at the same time. */
const maxOpen = 20;

export type HubSampling = ReturnType<typeof createHubSampling>;

/** Answers the sampling of servers with `"sampling": "hub"` whose clients do not support it. */
export function createHubSampling(answerer: SamplingAnswerer | undefined, log: Log) {
  /** By server, and by the server's own id as JSON text. */
  const open = new Map<object, Map<string, AbortController>>();
  let inputs = 0;

  async function answer(
    server: Server,
    id: string,
    params: unknown,
    signal?: AbortSignal,
  ): Promise<JsonObject> {
    const { name } = server.config;
    const ofServer = open.get(server) ?? new Map<string, AbortController>();
    if (ofServer.size >= maxOpen)
      throw retryable('HUB_INPUTS_FULL', `the hub answers ${maxOpen} requests of ${name} already`);
    const ended = new AbortController();
    open.set(server, ofServer.set(id, ended));
    try {
      const both = signal ? AbortSignal.any([signal, ended.signal]) : ended.signal;
      const caller = { client: `server:${name}`, kind: 'server' } as const;
      if (!answerer) throw new HubError('HUB_MODEL_UNKNOWN', 'the hub has no models');
      const result = await answerer.answer(params, { caller }, both);
      log.debug(
        { server: name, model: result['model'] },
        'the hub answered a request for sampling',
      );
      return result;
    } catch (error) {
      const fields = { server: name, error: messageOf(error) };
      log.warn(fields, 'the hub could not answer a request for sampling');
      throw error;
    } finally {
      ofServer.delete(id);
      if (ofServer.size === 0) open.delete(server);
    }
  }

  return {
    /** Whether the hub may answer a request of a server. */
    answers: ({ config }: Server, asked: string): boolean =>
      asked === method && config.sampling === 'hub',
    /** Answers a request of a server with a session. Never rejects: the server gets an error. */
    async answerRequest(
      server: Server,
      { request, answer: reply }: ServerRequest,
      signal?: AbortSignal,
    ): Promise<void> {
      const id = rawText(request.bytes, request.id);
      const params = request.params && valueOf(request.bytes, request.params);
      try {
        reply(encodeResult(id, JSON.stringify(await answer(server, id, params, signal))));
      } catch (error) {
        reply(errorAnswer(id, error));
      }
    },
    /** The result for an input that a stateless server requires, as JSON text. Rejects with HubError. */
    async answerInput(
      server: Server,
      params: string | undefined,
      signal: AbortSignal,
    ): Promise<string> {
      const value: unknown = params === undefined ? undefined : JSON.parse(params);
      return JSON.stringify(await answer(server, `input ${++inputs}`, value, signal));
    },
    /** The server cancelled its request. */
    withdrawn(server: Server, { bytes, params }: Notification): void {
      const span = membersOf(bytes, params)?.get('requestId');
      if (span) open.get(server)?.get(rawText(bytes, span))?.abort();
    },
    sourceGone(server: Server): void {
      for (const ended of open.get(server)?.values() ?? []) ended.abort();
    },
  };
}
