import { Buffer } from 'node:buffer';
import { createEmitter } from '#core';
import type {
  ActivityFilter,
  Bytes,
  CallDetail,
  CallRecord,
  CallSummary,
  Payload,
} from './call.ts';

export type ActivityOptions = {
  readonly maxCalls: number;
  /** Limit for the messages of all calls together, in bytes. */
  readonly maxPayloadBytes: number;
  /** Limit for each request and for each reply, in bytes. Longer messages are cut. */
  readonly maxKeptBytes: number;
};

/** The newest calls, in memory only. */
export type Activity = ReturnType<typeof createActivity>;

/**
 * Creates an empty activity log. Calls are stored in preallocated ring buffers: thousands of short-lived
 * objects would survive the young generation and burden the garbage collector.
 */
export function createActivity(
  { maxCalls, maxPayloadBytes, maxKeptBytes }: ActivityOptions,
  needs: {
    /** Removes secrets when a call is read: from JSON values, and from texts, which may be cut off anywhere. */
    readonly redaction: {
      text(text: string): string;
      json(value: unknown): unknown;
    };
  },
) {
  const { redaction } = needs;
  const columns = createCallColumns(maxCalls);
  const payloads = createPayloadRing(maxPayloadBytes, maxKeptBytes);
  const { event: changed, fire } = createEmitter<undefined>();
  let lastId = 0;

  /** An uncut message is valid JSON: the hub checked it when it was relayed. */
  function payloadOf(bytes: Buffer, length: number): Payload {
    const text = bytes.toString();
    return bytes.length < length
      ? { text: redaction.text(text), isCut: true }
      : { text: JSON.stringify(redaction.json(JSON.parse(text))), isCut: false };
  }

  /** Redacts the name, because the URI of a resource may contain a password. */
  function redacted(call: CallSummary): CallSummary {
    return call.name === undefined ? call : { ...call, name: redaction.text(call.name) };
  }

  return {
    /** The id of the newest call; 0 before the first call. */
    get lastId(): number {
      return lastId;
    },
    record(call: CallRecord): void {
      lastId++;
      columns.write(lastId % maxCalls, lastId, call, payloads.write(call.request, call.reply));
      fire(undefined);
    },
    /** The calls that match the filter, the newest first, at most `limit` of them. */
    list(filter: ActivityFilter, limit: number): readonly CallSummary[] {
      const matches = matcherOf(filter);
      const from = Math.min(lastId, (filter.before ?? Infinity) - 1);
      const to = Math.max(lastId - maxCalls, filter.after ?? 0);
      const found: CallSummary[] = [];
      for (let id = from; id > to && found.length < limit; id--) {
        const call = columns.read(id % maxCalls);
        if (matches(call)) found.push(redacted(call));
      }
      return found;
    },
    /** One call with its messages, as far as they are still stored. Undefined if the call is no longer stored. */
    find(id: number): CallDetail | undefined {
      const isStored = id > 0 && id <= lastId && id > lastId - maxCalls;
      if (!isStored) return undefined;
      const call = columns.read(id % maxCalls);
      const messages = payloads.read(columns.rangeOf(id % maxCalls));
      return {
        ...redacted(call),
        request: messages && payloadOf(messages.first, call.requestBytes),
        reply: messages && payloadOf(messages.second, call.replyBytes),
      };
    },
    /** Fires on each call. It runs on the hot path: listeners must only note that something changed. */
    changed,
  };
}

/** Returns a predicate for all fields of the filter except `before` and `after`, which the caller applies. */
function matcherOf(filter: ActivityFilter): (call: CallSummary) => boolean {
  const { server, method, since, tool, client, session, outcome } = filter;
  const text = filter.text?.toLowerCase();
  const includesText = (value: string | undefined) =>
    text !== undefined && value !== undefined && value.toLowerCase().includes(text);
  return call =>
    (server === undefined || call.server === server) &&
    (method === undefined || call.method === method) &&
    (since === undefined || call.at > since) &&
    (tool === undefined || call.name === tool) &&
    (client === undefined || call.client === client) &&
    (session === undefined || call.session === session) &&
    (outcome === undefined ||
      (outcome === 'failed' ? call.outcome !== 'ok' : call.outcome === outcome)) &&
    (text === undefined ||
      includesText(call.method) ||
      includesText(call.name) ||
      includesText(call.server) ||
      includesText(call.client) ||
      includesText(call.outcome));
}

/** Stored calls by slot number, in one array for each field. Writing a call allocates no objects. */
function createCallColumns(count: number) {
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
function createInterner() {
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
type PayloadRange = {
  /** Offset of the first byte, counted over all rounds of the ring. */
  readonly from: number;
  readonly firstBytes: number;
  readonly secondBytes: number;
};

/** The beginnings of the newest messages, in a ring that overwrites its oldest bytes: recording allocates nothing. */
function createPayloadRing(maxBytes: number, maxKeptBytes: number) {
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

function lengthOf(bytes: Bytes): number {
  if (Buffer.isBuffer(bytes)) return bytes.length;
  let length = 0;
  for (const part of bytes) length += part.length;
  return length;
}
