import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

type Connection = {
  /** Requests that are worked on while an earlier one of the same connection is not answered. */
  started: number;
  /** Requests that Node has read and that nothing works on yet. */
  readonly queued: (() => void)[];
};

/** Clients rarely send a request before the answer to the one before it. */
const maxStarted = 64;

/**
 * Bounds the requests of one connection that are worked on ahead of their turn. Node reads requests as they
 * come, and keeps each answer until those before it are sent. More requests wait, and the connection is not read
 * until the last of them is started: every request that was started is answered.
 */
export function createPipeline(): (
  request: IncomingMessage,
  response: ServerResponse,
  start: () => void,
) => void {
  const connections = new WeakMap<Socket, Connection>();

  function open(socket: Socket): Connection {
    const connection: Connection = { started: 0, queued: [] };
    connections.set(socket, connection);
    // Node resumes the connection with each body that is read.
    socket.on('resume', () => {
      if (connection.queued.length > 0) socket.pause();
    });
    return connection;
  }

  return ({ socket }, response, start) => {
    // All before it are answered.
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
