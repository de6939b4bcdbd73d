import { type JsonObject, HubError } from '#core';
import { valueOf } from '#jsonrpc';
import type { Server } from '#servers';
import type { ServerRequest } from '#upstream';
import { createHubRequests } from './hub-requests.ts';
import type { ServerLogs } from './server-logs.ts';

/** Answers sampling/createMessage by the models of the hub. Rejects with HubError. */
export interface SamplingAnswerer {
  answer(
    params: unknown,
    context: { readonly caller: { readonly client: string; readonly kind: 'server' } },
    signal: AbortSignal,
  ): Promise<JsonObject>;
}

const method = 'sampling/createMessage';

export type HubSampling = ReturnType<typeof createHubSampling>;

/** Answers the sampling of servers with `"sampling": "hub"` whose clients do not support it. */
export function createHubSampling(answerer: SamplingAnswerer | undefined, logs: ServerLogs) {
  const requests = createHubRequests('a request for sampling', logs);
  let inputs = 0;

  const sample =
    ({ config }: Server, params: unknown) =>
    async (signal: AbortSignal): Promise<JsonObject> => {
      const caller = { client: `server:${config.name}`, kind: 'server' } as const;
      if (!answerer) throw new HubError('HUB_MODEL_UNKNOWN', 'the hub has no models');
      return await answerer.answer(params, { caller }, signal);
    };

  return {
    /** True if the hub may answer a request with the method `asked` of a server. */
    answers: ({ config }: Server, asked: string): boolean =>
      asked === method && config.sampling === 'hub',
    /** Answers a request of a server with a session. Never rejects: the server gets an error. */
    async answerRequest(
      server: Server,
      serverRequest: ServerRequest,
      signal?: AbortSignal,
    ): Promise<void> {
      const { bytes, params } = serverRequest.request;
      await requests.reply(
        server,
        serverRequest,
        sample(server, params && valueOf(bytes, params)),
        signal,
      );
    },
    /**
     * Samples for an `InputRequiredResult` of a stateless server. Resolves with the result as JSON text. Rejects with
     * HubError.
     */
    async answerInput(
      server: Server,
      params: string | undefined,
      signal: AbortSignal,
    ): Promise<string> {
      const value: unknown = params === undefined ? undefined : JSON.parse(params);
      const asked = { id: `input ${++inputs}`, connection: undefined };
      return JSON.stringify(await requests.answer(server, asked, sample(server, value), signal));
    },
    withdrawn: requests.withdrawn,
    sourceGone: requests.sourceGone,
  };
}
