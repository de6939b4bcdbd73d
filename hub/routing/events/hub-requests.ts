import { type JsonObject, messageOf, retryable } from '#core';
import { type Notification, encodeResult, errorAnswer, membersOf, rawText } from '#jsonrpc';
import type { Server } from '#servers';
import type { ServerRequest } from '#upstream';
import type { ServerLogs } from './server-logs.ts';

/** Maximum number of requests of a server that the hub answers at the same time. */
const maxOpen = 20;

type Answering = (signal: AbortSignal) => Promise<JsonObject>;

/** The requests of servers that the hub itself answers. `what` names them in the log. */
export function createHubRequests(what: string, { log, logOf }: ServerLogs) {
  /** Open requests by server, with the server's own id as JSON text, which it may use twice. */
  const open = new Map<object, Set<{ readonly id: string; readonly ended: AbortController }>>();

  /** Rejects with the error of `work`, or with HUB_INPUTS_FULL. */
  async function answer(
    server: Server,
    id: string,
    work: Answering,
    signal?: AbortSignal,
  ): Promise<JsonObject> {
    const { name } = server.config;
    const ofServer = open.get(server) ?? new Set();
    if (ofServer.size >= maxOpen)
      throw retryable('HUB_INPUTS_FULL', `the hub answers ${maxOpen} requests of ${name} already`);
    const ended = new AbortController();
    const one = { id, ended };
    open.set(server, ofServer.add(one));
    try {
      const result = await work(signal ? AbortSignal.any([signal, ended.signal]) : ended.signal);
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
    /** Never rejects: the server gets an error. */
    async reply(
      server: Server,
      { request, answer: send }: ServerRequest,
      work: Answering,
      signal?: AbortSignal,
    ): Promise<void> {
      const id = rawText(request.bytes, request.id);
      try {
        send(encodeResult(id, JSON.stringify(await answer(server, id, work, signal))));
      } catch (error) {
        send(errorAnswer(id, error));
      }
    },
    /** The server cancelled its request. */
    withdrawn: (server: Server, { bytes, params }: Notification): void => {
      const span = membersOf(bytes, params)?.get('requestId');
      const withdrawn = span && rawText(bytes, span);
      for (const { id, ended } of open.get(server) ?? []) if (id === withdrawn) ended.abort();
    },
    sourceGone: (server: Server): void => {
      for (const { ended } of open.get(server) ?? []) ended.abort();
    },
  };
}
