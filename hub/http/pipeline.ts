import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

type Connection = {
  /** Requests that were started before an earlier one of the connection was answered. */
  started: number;
  readonly queued: (() => void)[];
};

/** Clients rarely send a request before the answer to the one before it. */
const maxStarted = 64;

/**
 * Bounds the pipelined requests of one connection that are answered at the same time. Node reads requests as they
 * arrive and keeps each answer until those before it are sent. Further requests wait, and the connection is not read
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
    // All earlier requests are answered.
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
