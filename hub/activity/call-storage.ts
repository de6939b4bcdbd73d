import { Buffer } from 'node:buffer';
import type { Bytes, CallRecord, CallSummary } from './call.ts';

/** Stored calls by slot number, in one array for each field. Writing a call allocates no objects. */
export function createCallColumns(count: number) {
  const numbers = () => new Float64Array(count);
  const lengths = () => new Uint32Array(count);
  const [ids, at, took, atServer, from] = [numbers(), numbers(), numbers(), numbers(), numbers()];
  const [requests, replies, keptRequests, keptReplies] = [
    lengths(),
    lengths(),
    lengths(),
    lengths(),
  ];
  // These arrays grow to `count` entries as calls are written.
  const methods: string[] = [];
  const names: (string | undefined)[] = [];
  const servers: (string | undefined)[] = [];
  const sessions: string[] = [];
  const clients: (string | undefined)[] = [];
  const outcomes: string[] = [];
  const [knownMethods, knownNames] = [createInterner(), createInterner()];

  return {
    write(slot: number, id: number, call: CallRecord, range: PayloadRange): void {
      ids[slot] = id;
      at[slot] = call.at;
      took[slot] = call.tookMs;
      atServer[slot] = call.serverMs;
      requests[slot] = lengthOf(call.request);
      replies[slot] = lengthOf(call.reply);
      from[slot] = range.from;
      keptRequests[slot] = range.firstBytes;
      keptReplies[slot] = range.secondBytes;
      methods[slot] = knownMethods.intern(call.method);
      names[slot] = call.name === undefined ? undefined : knownNames.intern(call.name);
      servers[slot] = call.server;
      sessions[slot] = call.session;
      clients[slot] = call.client;
      outcomes[slot] = call.outcome;
    },
    /** The call last written to this slot. */
    read: (slot: number): CallSummary => ({
      id: ids[slot] ?? 0,
      at: at[slot] ?? 0,
      method: methods[slot] ?? '',
      name: names[slot],
      server: servers[slot],
      session: sessions[slot] ?? '',
      client: clients[slot],
      tookMs: took[slot] ?? 0,
      serverMs: atServer[slot] ?? 0,
      outcome: outcomes[slot] ?? '',
      requestBytes: requests[slot] ?? 0,
      replyBytes: replies[slot] ?? 0,
    }),
    /** The position of its messages in the payload ring. */
    rangeOf: (slot: number): PayloadRange => ({
      from: from[slot] ?? 0,
      firstBytes: keptRequests[slot] ?? 0,
      secondBytes: keptReplies[slot] ?? 0,
    }),
  };
}

/** Above this many strings all are dropped: clients choose the names, so the set needs a bound. */
const maxStrings = 2_000;
/** Longer texts are cut, in characters: a data URI may contain a whole document. */
const maxInternedLength = 300;

/** Shares one string among equal texts, so that a thousand calls of one tool store its name once. */
export function createInterner() {
  const known = new Map<string, string>();
  let last = '';
  return {
    intern(text: string): string {
      // Consecutive calls mostly have the same name.
      if (text === last) return last;
      const found = known.get(text);
      if (found !== undefined) return (last = found);
      if (known.size >= maxStrings) known.clear();
      // A copy through a Buffer, because a slice would keep the whole original string in memory.
      const stored =
        text.length > maxInternedLength
          ? Buffer.from(`${text.slice(0, maxInternedLength)}…`).toString()
          : text;
      known.set(stored, stored);
      return stored;
    },
  };
}

/** Position of two adjacent beginnings in the ring. */
export type PayloadRange = {
  /** Offset of the first byte, counted over all rounds of the ring. */
  readonly from: number;
  readonly firstBytes: number;
  readonly secondBytes: number;
};

/** The beginnings of the newest messages, in a ring that overwrites its oldest bytes: recording allocates nothing. */
export function createPayloadRing(maxBytes: number, maxKeptBytes: number) {
  // The system commits these pages only when they are first written.
  const ring = Buffer.alloc(Math.max(maxBytes, 2 * maxKeptBytes));
  let written = 0;

  function copy(bytes: Bytes, at: number): number {
    if (Buffer.isBuffer(bytes)) return bytes.copy(ring, at, 0, maxKeptBytes);
    let copied = 0;
    for (const part of bytes) copied += part.copy(ring, at + copied, 0, maxKeptBytes - copied);
    return copied;
  }

  return {
    /** Copies the beginning of both messages into the ring and returns their position. */
    write(first: Bytes, second: Bytes): PayloadRange {
      const left = ring.length - (written % ring.length);
      // A message is never split: if both might not fit before the end, they go to the start.
      if (left < 2 * maxKeptBytes) written += left;
      const from = written;
      const at = from % ring.length;
      const firstBytes = copy(first, at);
      const secondBytes = copy(second, at + firstBytes);
      written += firstBytes + secondBytes;
      return { from, firstBytes, secondBytes };
    },
    /** The two beginnings at a position; undefined once newer messages have overwritten them. */
    read({ from, firstBytes, secondBytes }: PayloadRange) {
      if (written - from > ring.length) return undefined;
      const at = from % ring.length;
      const middle = at + firstBytes;
      return {
        first: ring.subarray(at, middle),
        second: ring.subarray(middle, middle + secondBytes),
      };
    },
  };
}

/** The length of a message in bytes. */
export function lengthOf(bytes: Bytes): number {
  if (Buffer.isBuffer(bytes)) return bytes.length;
  let length = 0;
  for (const part of bytes) length += part.length;
  return length;
}
