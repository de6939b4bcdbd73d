import { open } from 'node:fs/promises';
import { type Socket, isIPv4 } from 'node:net';
import { endianness } from 'node:os';

/** The other end of a connection. It is determined once, when the hub accepts the connection. */
export type Peer = PeerProcess & {
  /** The client that the verified certificate names; undefined without a certificate. */
  readonly certificate?: string;
};

/** The owner of the process that opened a connection. */
type PeerProcess =
  | { readonly kind: 'same-user' }
  /** A remote connection, or an operating system that does not provide the owner. */
  | { readonly kind: 'unchecked' }
  | {
      readonly kind: 'refused';
      readonly why: string;
      /** True if the connection ended before the hub found its user. */
      readonly isGone?: boolean;
    };

export type Peers = ReturnType<typeof createPeers>;

export type PeersNeeds = {
  /** Reads the socket tables; undefined if the system has none, or if the hub requires a token instead. */
  readonly tables: SocketTables | undefined;
  readonly uid: number;
};

const unchecked: PeerProcess = { kind: 'unchecked' };
const sameUser: PeerProcess = { kind: 'same-user' };
const loopback = /^(?:::ffff:)?127\.|^::1$/;

/**
 * Finds the owner of the process that opened a connection (Linux). Checks only connections to a loopback address,
 * because both ends of these are in the hub's socket table. The peer of a published container port is in another
 * network namespace.
 */
export function createPeers({ tables, uid }: PeersNeeds) {
  const peers = new WeakMap<Socket, Peer>();
  const waiting = new Set<Socket>();

  async function find(socket: Socket, from: SocketTables): Promise<PeerProcess> {
    const { localAddress, localPort, remoteAddress, remotePort } = socket;
    if (!localAddress || !localPort || !remoteAddress || !remotePort) return gone;
    const remote = { address: remoteAddress, port: remotePort };
    const owner = await findOwner(remote, { address: localAddress, port: localPort }, from);
    if (owner === undefined) return gone;
    if (owner === uid) return sameUser;
    return refused(`this connection was opened by user ${owner} and the hub runs as user ${uid}`);
  }

  return {
    /**
     * Finds the user whose process opened a connection, then calls `known` unless the connection was closed.
     * Synchronous if no look-up is needed. The result is valid for the life of the connection. `certificate`: the
     * client that the certificate of the connection names.
     */
    identify(socket: Socket, known: () => void, certificate?: string): void {
      const hold = (found: PeerProcess) =>
        peers.set(socket, certificate === undefined ? found : { ...found, certificate });
      if (!tables || !loopback.test(socket.localAddress ?? '')) {
        if (certificate !== undefined) hold(unchecked);
        return known();
      }
      waiting.add(socket);
      // The reader of the connection subscribes later, and `end` is emitted only once: without this listener, a client
      // that disconnects now would occupy the connection until its timeout. If bytes are unread, `end` is emitted
      // after them.
      const close = () => void socket.destroy();
      socket.on('error', close).on('end', close);
      const settle = (found: PeerProcess) => {
        waiting.delete(socket);
        socket.off('error', close).off('end', close);
        if (socket.destroyed) return;
        hold(found);
        known();
      };
      find(socket, tables).then(settle, (error: unknown) =>
        settle(refused(`the hub cannot tell which user opened this connection (${String(error)})`)),
      );
    },
    of: (socket: Socket): Peer => peers.get(socket) ?? unchecked,
    endAll(): void {
      for (const socket of waiting) socket.destroy();
    },
  };
}

const refused = (why: string): PeerProcess => ({ kind: 'refused', why });
const gone: PeerProcess = {
  kind: 'refused',
  why: 'the process that opened this connection is gone',
  isGone: true,
};

type TableName = 'tcp' | 'tcp6';

/** Reads the kernel's tables of TCP sockets in the hub's own network namespace. */
type SocketTables = {
  /**
   * Resolves with the first result of `find` that is not undefined, or with undefined. `find` gets the rows of a table
   * in pieces, read after the call. Concurrent calls share one reading of the table.
   */
  readonly search: <T>(
    table: TableName,
    find: (rows: string) => T | undefined,
  ) => Promise<T | undefined>;
};

type End = { readonly address: string; readonly port: number };

/** Size of a read in bytes. The kernel returns less than this at a time. Reading a whole table takes 2 ms. */
const readBytes = 16 * 1024;

/** Reads the tables in /proc/net (proc_net_tcp.rst of the kernel's documentation). */
export function createSocketTables(
  readTable: (table: TableName) => AsyncIterable<string> = readKernelTable,
): SocketTables {
  const searches = {
    tcp: createSharedSearch(() => readTable('tcp')),
    tcp6: createSharedSearch(() => readTable('tcp6')),
  };
  return { search: async (table, find) => await searches[table](find) };
}

async function* readKernelTable(table: TableName): AsyncGenerator<string> {
  await using file = await open(`/proc/net/${table}`);
  const buffer = Buffer.allocUnsafe(readBytes);
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
    if (bytesRead === 0) return;
    yield buffer.toString('latin1', 0, bytesRead);
  }
}

/**
 * Finds the user of the socket with these two ends; undefined if no process has it. Rejects if the tables cannot be
 * read.
 */
export async function findOwner(
  local: End,
  remote: End,
  { search }: SocketTables,
): Promise<number | undefined> {
  // An IPv4 connection of an IPv6 socket is in the other table, with mapped addresses.
  const isV4 = /^(?:::ffff:)?\d+\./.test(local.address);
  const tables = isV4 ? (['tcp', 'tcp6'] as const) : (['tcp6'] as const);
  // The kernel can skip a row if the table changes during a reading, so the table is read twice.
  for (let look = 0; look < 2; look++)
    for (const table of tables) {
      const ends = `${hexOf(local, table)} ${hexOf(remote, table)} `;
      const owner = await search(table, rows => ownerIn(rows, ends));
      if (owner !== undefined) return owner;
    }
  return undefined;
}

/** Matches the fields after the addresses in a row: state, queues, timer, retransmissions, uid, timeout and inode. */
const row = /^([\dA-F]{2}) \S+ \S+ \S+ +(\d+) +\d+ (\d+) /;
/**
 * Codes of the states established, FIN_WAIT1 and FIN_WAIT2. In the latter two, the client has closed its writing side
 * and still reads. The socket of an ended process is in these states too, but has inode 0 and uid 0, which is then not
 * root.
 */
const states = new Set(['01', '04', '05']);

function ownerIn(text: string, ends: string): number | undefined {
  for (let at = text.indexOf(ends); at >= 0; at = text.indexOf(ends, at + 1)) {
    const start = at + ends.length;
    const [, state = '', uid, inode] = row.exec(text.slice(start, start + 100)) ?? [];
    if (states.has(state) && inode !== '0') return Number(uid);
  }
  return undefined;
}

const isLittleEndian = endianness() === 'LE';

/** Formats an end of a connection as in the table: words of 32 bits in the byte order of the machine, and the port. */
function hexOf({ address, port }: End, table: TableName): string {
  const bytes = bytesOf(address).subarray(table === 'tcp' ? -4 : 0);
  const written = Buffer.from(bytes);
  if (isLittleEndian) written.swap32();
  return `${written.toString('hex')}:${port.toString(16).padStart(4, '0')}`.toUpperCase();
}

/**
 * Returns the 16 bytes of an address, for IPv4 of the mapped address. The table does not contain the zone of a
 * link-local address.
 */
function bytesOf(address: string): Uint8Array {
  const host = isIPv4(address) ? `::ffff:${address}` : address.replace(/%.*/, '');
  const [before = '', after] = new URL(`http://[${host}]`).hostname.slice(1, -1).split('::');
  const groups = (text: string | undefined) =>
    text ? text.split(':').map(group => parseInt(group, 16)) : [];
  const left = groups(before);
  const right = groups(after);
  const zeros = after === undefined ? 0 : 8 - left.length - right.length;
  const all = [...left, ...Array(zeros).fill(0), ...right];
  return Uint8Array.from(all.flatMap(group => [group >> 8, group & 0xff]));
}

type Search = {
  /** Called with the next rows. Returns true if the search needs no more rows. */
  readonly take: (rows: string) => boolean;
  readonly end: () => void;
  readonly fail: (error: unknown) => void;
};

/**
 * Shares one reading of a table among all searches that wait when it begins. Later searches wait for the next reading.
 */
function createSharedSearch(read: () => AsyncIterable<string>) {
  const waiting = new Set<Search>();
  let isReading = false;

  async function readForAll(): Promise<void> {
    isReading = true;
    while (waiting.size > 0) {
      const searches = new Set(waiting);
      waiting.clear();
      try {
        await readFor(searches);
        for (const search of searches) search.end();
      } catch (error) {
        for (const search of searches) search.fail(error);
      }
    }
    isReading = false;
  }

  async function readFor(searches: Set<Search>): Promise<void> {
    let rest = '';
    for await (const text of read()) {
      // A chunk may end in the middle of a row.
      const joined = rest + text;
      const whole = joined.lastIndexOf('\n') + 1;
      const rows = joined.slice(0, whole);
      rest = joined.slice(whole);
      for (const search of searches) if (search.take(rows)) searches.delete(search);
      if (searches.size === 0) return;
    }
    for (const search of searches) if (search.take(rest)) searches.delete(search);
  }

  return <T>(find: (rows: string) => T | undefined): Promise<T | undefined> => {
    const { promise, resolve, reject } = Promise.withResolvers<T | undefined>();
    waiting.add({
      take(rows) {
        const found = find(rows);
        if (found !== undefined) resolve(found);
        return found !== undefined;
      },
      end: () => resolve(undefined),
      fail: reject,
    });
    if (!isReading) void readForAll();
    return promise;
  };
}
