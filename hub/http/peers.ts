import type { Socket } from 'node:net';
import type { Peer } from './guarded-request.ts';
import { type SocketTables, findOwner } from './socket-tables.ts';

export type Peers = ReturnType<typeof createPeers>;

export type PeersNeeds = {
  /** Undefined if the system has none, or if the hub asks for a token instead. */
  readonly tables: SocketTables | undefined;
  readonly uid: number;
};

const unchecked: Peer = { kind: 'unchecked' };
const sameUser: Peer = { kind: 'same-user' };
const loopback = /^(?:::ffff:)?127\.|^::1$/;

/**
 * Tells whose process opened each connection (Linux). It looks up connections to a loopback address only, because both
 * their ends are in the hub's socket table. The peer of a published container port is in another network namespace.
 */
export function createPeers({ tables, uid }: PeersNeeds) {
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
    /**
     * Finds the user whose process opened a connection, then calls `known` unless the connection is gone. Synchronous if
     * there is nothing to find. The result holds for the life of the connection.
     */
    identify(socket: Socket, known: () => void): void {
      if (!tables || !loopback.test(socket.localAddress ?? '')) return known();
      waiting.add(socket);
      // The reader of the connection listens for errors later.
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
    of: (socket: Socket) => peers.get(socket) ?? unchecked,
    /** Ends the connections that are being identified. */
    endAll(): void {
      for (const socket of waiting) socket.destroy();
    },
  };
}

const gone = 'the process that opened this connection is gone';
const refused = (why: string): Peer => ({ kind: 'refused', why });
