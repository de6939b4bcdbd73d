import { readFile } from 'node:fs/promises';
import { isIPv4 } from 'node:net';
import { endianness } from 'node:os';

/** The kernel's tables of the TCP sockets in the hub's own network namespace. */
export type SocketTables = {
  /** Resolves with a table whose reading began after the call. Calls at the same time share one reading. */
  readonly read: (table: 'tcp' | 'tcp6') => Promise<string>;
};

export type End = { readonly address: string; readonly port: number };

/** The tables in /proc/net (proc_net_tcp.rst of the kernel's documentation). */
export function createSocketTables(
  readTable = (table: string) => readFile(`/proc/net/${table}`, 'latin1'),
): SocketTables {
  const shared = {
    tcp: createShared(() => readTable('tcp')),
    tcp6: createShared(() => readTable('tcp6')),
  };
  return { read: async table => await shared[table]() };
}

/**
 * The user who made the socket with these ends; undefined where there is no such socket that a process still has.
 * Rejects where the tables cannot be read.
 */
export async function findOwner(
  local: End,
  remote: End,
  { read }: SocketTables,
): Promise<number | undefined> {
  // A client may speak IPv4 by a socket of IPv6, which is in the other table, with mapped addresses.
  const tables = isIPv4(plainAddress(local.address))
    ? (['tcp', 'tcp6'] as const)
    : (['tcp6'] as const);
  // The kernel can skip a row where the table changes while it is read: the second look is on another reading.
  for (let look = 0; look < 2; look++)
    for (const table of tables) {
      const text = await read(table);
      const owner = ownerIn(text, `${hexOf(local, table)} ${hexOf(remote, table)} `);
      if (owner !== undefined) return owner;
    }
  return undefined;
}

/** What follows the addresses in a row: state, queues, timer, retransmissions, uid, timeout and inode. */
const row = /^([\dA-F]{2}) \S+ \S+ \S+ +(\d+) +\d+ (\d+) /;
/**
 * Established, or closed for writing by the client, which still reads: FIN_WAIT1 and FIN_WAIT2. The socket of a
 * process that has ended is in these states too, but has inode 0 and shows uid 0, which is not root.
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
const mapped = '::ffff:';
const plainAddress = (address: string) =>
  address.startsWith(mapped) ? address.slice(mapped.length) : address;

/** An end as the table writes it: words of 32 bits in the byte order of the machine, and the port. */
function hexOf({ address, port }: End, table: 'tcp' | 'tcp6'): string {
  const plain = plainAddress(address);
  const bytes = isIPv4(plain) ? v4Bytes(plain, table) : v6Bytes(plain);
  const words: string[] = [];
  for (let at = 0; at < bytes.length; at += 4) {
    const word = bytes.subarray(at, at + 4);
    words.push(Buffer.from(isLittleEndian ? word.toReversed() : word).toString('hex'));
  }
  return `${words.join('')}:${port.toString(16).padStart(4, '0')}`.toUpperCase();
}

function v4Bytes(address: string, table: 'tcp' | 'tcp6'): Uint8Array {
  const own = address.split('.').map(Number);
  return Uint8Array.from(table === 'tcp' ? own : [...Array(10).fill(0), 0xff, 0xff, ...own]);
}

/** Of an address in any form, such as ::1. The zone of a link-local one is not in the table. */
function v6Bytes(address: string): Uint8Array {
  const [before = '', after] = new URL(`http://[${address.replace(/%.*/, '')}]`).hostname
    .slice(1, -1)
    .split('::');
  const groups = (text: string | undefined) =>
    text ? text.split(':').map(group => parseInt(group, 16)) : [];
  const left = groups(before);
  const right = groups(after);
  const zeros = after === undefined ? 0 : 8 - left.length - right.length;
  const all = [...left, ...Array(zeros).fill(0), ...right];
  return Uint8Array.from(all.flatMap(group => [group >> 8, group & 0xff]));
}

/** Shares work among all who ask before it begins; who asks while it runs gets the next turn of it. */
function createShared<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  let next: Promise<T> | undefined;
  function begin(): Promise<T> {
    next = undefined;
    const begun = work();
    running = begun;
    const over = () => {
      if (running === begun) running = undefined;
    };
    begun.then(over, over);
    return begun;
  }
  return () => (next ??= running?.then(begin, begin)) ?? begin();
}
