import { type JsonObject, createAbortScope, messageOf, retryable } from '#core';
import { encodeResult, errorAnswer, rawText } from '#jsonrpc';
import type { Server } from '#servers';
import type { ServerConnection, ServerRequest } from '#upstream';
import type { ServerLogs } from './server-logs.ts';

/** Maximum number of requests of a server that the hub answers at the same time. */
const maxOpen = 20;

type Answering = (signal: AbortSignal) => Promise<JsonObject>;

type HubRequest = {
  /** The server's own id, as JSON text. */
  readonly id: string;
  /** Undefined if the request was part of the result of a call. */
  readonly connection: ServerConnection | undefined;
  readonly abort: () => void;
};

/** Creates the answering of servers' requests by the hub itself. `what`: kind of the requests, for the log. */
export function createHubRequests(what: string, { log, logOf }: ServerLogs) {
  /** Open requests by server. A server may use one id for several of them. */
  const open = new Map<Server, Set<HubRequest>>();

  /** Runs the work for a request. Rejects with the error of `work`, or with HUB_INPUTS_FULL. */
  async function answer(
    server: Server,
    asked: Pick<HubRequest, 'id' | 'connection'>,
    work: Answering,
    signal?: AbortSignal,
  ): Promise<JsonObject> {
    const { name } = server.config;
    const ofServer = open.get(server) ?? new Set();
    if (ofServer.size >= maxOpen)
      throw retryable('HUB_INPUTS_FULL', `the hub answers ${maxOpen} requests of ${name} already`);
    const signals = [signal, asked.connection?.ended].filter(one => one !== undefined);
    using scope = createAbortScope(signals);
    const one = { ...asked, abort: scope.abort };
    open.set(server, ofServer.add(one));
    try {
      const result = await work(scope.signal);
      log.debug({ server: name, model: result['model'] }, `the hub answered ${what}`);
      return result;
    } catch (error) {
      logOf(server).warn({ error: messageOf(error) }, `the hub could not answer ${what}`);
      throw error;
    } finally {
      ofServer.delete(one);
      if (ofServer.size === 0) open.delete(server);
    }
  }

  return {
    answer,
    /** Answers a request with the result of `work`. Never rejects: the server gets an error. */
    async reply(
      server: Server,
      { request, connection, answer: send }: ServerRequest,
      work: Answering,
      signal?: AbortSignal,
    ): Promise<void> {
      const id = rawText(request.bytes, request.id);
      try {
        const result = await answer(server, { id, connection }, work, signal);
        send(encodeResult(id, JSON.stringify(result)));
      } catch (error) {
        send(errorAnswer(id, error));
      }
    },
    /** The server cancelled its request with this id, which is JSON text. */
    withdrawn: (connection: ServerConnection, id: string): void => {
      for (const ofServer of open.values())
        for (const one of ofServer) if (one.connection === connection && one.id === id) one.abort();
    },
    sourceGone: (server: Server): void => {
      for (const { abort } of open.get(server) ?? []) abort();
    },
  };
}
