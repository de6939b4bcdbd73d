import type { IncomingMessage, ServerResponse } from 'node:http';
import { rpcCodes } from '#jsonrpc';
import { type Principal, isSamePrincipal } from '#policy';
import type { Endpoint } from '#routing';
import type { Connection } from './connection.ts';
import type { ClientConnections } from './connections.ts';
import {
  clientNameIn,
  eventStreamHeaders,
  isJson,
  keepAliveComment,
  refuse,
  refused,
  sendUnavailable,
  stalledMs,
  whyCompressed,
} from './http-message.ts';

export type Sse = ReturnType<typeof createSse>;

type SseNeeds = {
  readonly connections: Pick<ClientConnections, 'open'>;
  readonly newId: () => string;
};

/** Path for the messages of clients. */
export const messagesPath = '/messages';
const messageStart = 'event: message\ndata: ';
const eventEnd = '\n\n';

/**
 * Creates the transport HTTP with server-sent events (MCP 2024-11-05): an event stream is the session. Its client
 * sends messages by POST, and all answers are events of the stream.
 */
export function createSse({ connections, newId }: SseNeeds) {
  const sessions = new Map<string, Connection>();

  return {
    /** Opens the stream of a session as the answer to a GET. */
    open(
      { headers }: Pick<IncomingMessage, 'headers'>,
      response: ServerResponse,
      endpoint: Endpoint,
      principal: Principal,
    ): void {
      if (response.destroyed) return;
      const id = newId();
      let connection: Connection;
      try {
        connection = connections.open(endpoint, principal, {
          kind: 'sse',
          clientName: clientNameIn(headers),
          write(messages) {
            response.cork();
            for (const message of messages) {
              response.write(messageStart);
              response.write(message);
              response.write(eventEnd);
            }
            response.uncork();
          },
          unsentBytes: () => response.writableLength,
          close: () => response.end(),
          drop: () => response.destroy(),
          keepAlive: () => void response.write(keepAliveComment),
        });
      } catch (error) {
        return sendUnavailable(response, 'null', error);
      }
      sessions.set(id, connection);
      response.once('close', () => {
        sessions.delete(id);
        connection.gone('the client hung up');
      });
      // Each keep-alive comment that the client reads starts this timeout again.
      response.setTimeout(stalledMs, () => {
        connection.drop(`the client has taken nothing for ${stalledMs} ms`);
        response.destroy();
      });
      response.writeHead(200, eventStreamHeaders);
      response.write(`event: endpoint\ndata: ${messagesPath}?sessionId=${id}${eventEnd}`);
    },
    /** Receives a POST with a message for the session in the query of the URL. */
    post(
      request: IncomingMessage,
      response: ServerResponse,
      body: Buffer,
      principal: Principal,
    ): void {
      const query = new URLSearchParams((request.url ?? '').split('?')[1]);
      const connection = sessions.get(query.get('sessionId') ?? '');
      // The session id is not a credential.
      if (!connection || !isSamePrincipal(connection.principal, principal)) {
        const why = 'the session is unknown or over: open the stream again';
        return refuse(response, 404, rpcCodes.sessionUnknown, why, body);
      }
      if (!isJson(request.headers))
        return refuse(response, 415, refused, 'Content-Type must be application/json', body);
      const compressed = whyCompressed(request.headers);
      if (compressed !== undefined) return refuse(response, 415, refused, compressed);
      response.writeHead(202).end();
      connection.receive(body);
    },
  };
}
