import type { Socket } from 'node:net';
import type { Peer } from './guarded-request.ts';
import { type SocketTables, findOwner } from './socket-tables.ts';

/** Tells whose process opened each connection (Linux). */
export interface Peers {
  /**
   * Finds out whose process opened a connection, and calls `known` unless the connection is gone by then. At once
   * where there is nothing to find out. The answer holds for the life of the connection.
   */
  identify(socket: Socket, known: () => void): void;
  /** What was found out about a connection that was identified. */
  of(socket: Socket): Peer;
  /** Ends the connections that wait for it. */
  endAll(): void;
}

export type PeersNeeds = {
  /** Undefined: this system does not tell, or the hub asks for a token instead. */
  readonly tables: SocketTables | undefined;
  /** The user that the hub runs as. */
  readonly uid: number;
};

const unchecked: Peer = { kind: 'unchecked' };
const sameUser: Peer = { kind: 'same-user' };
const loopback = /^(?:::ffff:)?127\.|^::1$/;

/**
 * Only connections to a loopback address are looked up: both their ends are in the hub's own table of sockets.
 * The peer of a port that a container publishes is in another network namespace, and cannot be told.
 */
export function createPeers({ tables, uid }: PeersNeeds): Peers {
  const peers = new WeakMap<Socket, Peer>();
  const waiting = new Set<Socket>();

  async function find(socket: Socket, from: SocketTables): Promise<Peer> {
    const { localAddress, localPort, remoteAddress, remotePort } = socket;
    if (!localAddress || !localPort || !remoteAddress || !remotePort) return refused(gone);
    const remote = { address: remoteAddress, port: remotePort };
    const here = { address: localAddress, port: localPort };
    const owner = await findOwner(remote, here, from);
    if (owner === undefined) return refused(gone);
    return owner === uid
      ? sameUser
      : refused(`this connection was opened by user ${owner} and the hub runs as user ${uid}`);
  }

  return {
    identify(socket, known) {
      if (!tables || !loopback.test(socket.localAddress ?? '')) return known();
      waiting.add(socket);
      // Whoever takes the connection later listens for errors too.
      const fail = () => void socket.destroy();
      socket.on('error', fail);
      const settle = (peer: Peer) => {
        waiting.delete(socket);
        socket.off('error', fail);
        if (socket.destroyed) return;
        peers.set(socket, peer);
        known();
      };
      find(socket, tables).then(settle, (error: unknown) =>
        settle(refused(`the hub cannot tell which user opened this connection (${String(error)})`)),
      );
    },
    of: socket => peers.get(socket) ?? unchecked,
    endAll() {
      for (const socket of waiting) socket.destroy();
    },
  };
}

const gone = 'the process that opened this connection is gone';
const refused = (why: string): Peer => ({ kind: 'refused', why });
