import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Principal, isSamePrincipal } from '#policy';
import type { Endpoint } from '#routing';
import { isJson } from './accepted.ts';
import { refuse, stalledMs } from './answer.ts';
import type { Connections } from './connection-table.ts';
import type { Connection, Wire } from './connection.ts';
import { refused } from './refusals.ts';
import { sendUnavailable } from './unavailable.ts';

/**
 * HTTP with server-sent events (MCP 2024-11-05): an event stream is the session. Its client sends messages by POST,
 * and all answers are events of the stream.
 */
export interface Sse {
  /** Opens the stream as the answer to a GET. */
  open(response: ServerResponse, endpoint: Endpoint, principal: Principal): void;
  /** Receives a POST to the session that the query of the URL names. */
  post(
    request: IncomingMessage,
    response: ServerResponse,
    body: Buffer,
    principal: Principal,
  ): void;
}

export type SseNeeds = {
  readonly connections: Pick<Connections, 'open'>;
  readonly newId: () => string;
};

/** Path for the messages of clients. */
export const messagesPath = '/messages';
const headers = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;
const messageStart = 'event: message\ndata: ';
const eventEnd = '\n\n';
const sessionUnknown = -32001;

export function createSse({ connections, newId }: SseNeeds): Sse {
  const sessions = new Map<string, Connection>();

  return {
    open(response, endpoint, principal) {
      if (response.destroyed) return;
      const wire: Wire = {
        kind: 'sse',
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
        keepAlive: () => void response.write(': keep-alive\n\n'),
      };
      const id = newId();
      let connection: Connection;
      try {
        connection = connections.open(endpoint, principal, wire);
      } catch (error) {
        return sendUnavailable(response, 'null', error);
      }
      sessions.set(id, connection);
      response.once('close', () => {
        sessions.delete(id);
        connection.gone('the client hung up');
      });
      // Comments reset the timeout, unless the client does not read them.
      response.setTimeout(stalledMs, () => {
        connection.drop(`the client has taken nothing for ${stalledMs} ms`);
        response.destroy();
      });
      response.writeHead(200, headers);
      response.write(`event: endpoint\ndata: ${messagesPath}?sessionId=${id}${eventEnd}`);
    },
    post(request, response, body, principal) {
      const query = new URLSearchParams((request.url ?? '').split('?')[1]);
      const connection = sessions.get(query.get('sessionId') ?? '');
      // The id authenticates nobody.
      if (!connection || !isSamePrincipal(connection.principal, principal)) {
        const why = 'the session is unknown or over: open the stream again';
        return refuse(response, 404, sessionUnknown, why, body);
      }
      if (!isJson(request))
        return refuse(response, 415, refused, 'Content-Type must be application/json', body);
      response.writeHead(202).end();
      connection.receive(body);
    },
  };
}
