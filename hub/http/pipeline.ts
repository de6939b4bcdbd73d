import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

type Connection = {
  /** Number of requests that were started before an earlier request of the connection was answered. */
  started: number;
  readonly queued: (() => void)[];
};

/** Maximum number of started requests. Clients rarely send a request before the answer to the previous one. */
const maxStarted = 64;

/**
 * Limits the pipelined requests of one connection that are answered at the same time. Node reads requests as they
 * arrive and keeps each answer until the earlier ones are sent. Further requests wait, and the connection is not read
 * until all of them are started.
 */
export function createPipeline() {
  const connections = new WeakMap<Socket, Connection>();

  function open(socket: Socket): Connection {
    const connection: Connection = { started: 0, queued: [] };
    connections.set(socket, connection);
    // Node resumes the connection after each body.
    socket.on('resume', () => {
      if (connection.queued.length > 0) socket.pause();
    });
    return connection;
  }

  return ({ socket }: IncomingMessage, response: ServerResponse, start: () => void): void => {
    // If all earlier requests are answered, the request starts at once.
    if (response.socket) return start();
    const connection = connections.get(socket) ?? open(socket);
    const { queued } = connection;
    function begin(): void {
      connection.started++;
      response.once('socket', () => {
        connection.started--;
        const next = queued.shift();
        next?.();
        if (next && queued.length === 0) socket.resume();
      });
      start();
    }
    if (connection.started < maxStarted) return begin();
    queued.push(begin);
    socket.pause();
  };
}
