import { type HttpResponse, eventStreamHeaders, keepAliveComment } from './http-message.ts';

/** Limits of the events stored for clients that reconnect, and of the unread bytes of a connection. */
type StreamBounds = {
  readonly maxEvents: number;
  readonly maxBytes: number;
  /** Maximum number of unsent bytes. A connection above it is dropped; its client may resume. */
  readonly maxUnsentBytes: number;
  /** Time in ms after which a connection that accepts no bytes is dropped. */
  readonly stalledMs: number;
};

export type EventStream = ReturnType<typeof createEventStream>;

const messageEnd = Buffer.from('\n\n');
/**
 * Delay before a client reconnects, in ms. The official SDKs reconnect twice and then never again, so a restart of the
 * hub may take twice as long.
 */
const retryMs = 5_000;
/** Memory that an event takes in addition to its bytes, in bytes. */
const eventCostBytes = 512;

/**
 * Creates a server-sent event stream that outlives its connection. The newest events are stored, and a client that
 * sends the id of its last event gets the events after it (MCP 2025-11-25, resumability). The first event has the
 * number `start + 1`.
 */
export function createEventStream(
  id: number,
  bounds: StreamBounds,
  budget: ReplayBudget,
  extraHeaders: Readonly<Record<string, string>>,
  start = 0,
) {
  const kept: { readonly sequence: number; readonly bytes: Buffer }[] = [];
  let keptBytes = 0;
  const share: Share = { giveUpOldest: dropOldest, rank: 'detached', bytes: 0 };
  let discarded = false;
  let last = start;
  /** Number of the newest event that was sent on a connection. */
  let sent = start;
  let ended = false;
  let connection: HttpResponse | undefined;

  function connect(to: HttpResponse | undefined): void {
    connection = to;
    budget.rank(share, ended ? 'ended' : to ? 'attached' : 'detached');
  }

  function send(sequence: number, bytes: Buffer): void {
    if (!connection) return;
    if (connection.writableLength > bounds.maxUnsentBytes) {
      connection.destroy();
      connect(undefined);
      return;
    }
    connection.write(bytes);
    sent = sequence;
  }

  function keep(sequence: number, bytes: Buffer): void {
    if (discarded) return;
    // An event that does not fit is lost, and the stored events before it cannot be used without it.
    while (kept.length > 0 && !fits(bytes)) dropOldest();
    if (!fits(bytes)) return;
    kept.push({ sequence, bytes });
    keptBytes += bytes.length;
    budget.resize(share, bytes.length + eventCostBytes);
  }

  const fits = (bytes: Buffer) =>
    kept.length < bounds.maxEvents && keptBytes + bytes.length <= bounds.maxBytes;

  function dropOldest(): void {
    const oldest = kept.shift();
    if (!oldest) return;
    keptBytes -= oldest.bytes.length;
    budget.resize(share, -oldest.bytes.length - eventCostBytes);
  }

  return {
    id,
    /** Number of the newest event. */
    get last() {
      return last;
    },
    get attached() {
      return connection !== undefined;
    },
    /** Sends a message, and stores it for clients that reconnect. */
    write(message: Buffer): void {
      const head = Buffer.from(`id: ${id}-${++last}\ndata: `);
      const bytes = Buffer.concat([head, message, messageEnd]);
      keep(last, bytes);
      send(last, bytes);
    },
    /**
     * Connects the stream to a response, and sends the events after `lastSeen`; without `lastSeen`, or with a number
     * of an earlier run of the hub, the events that were not sent yet. False if some events after `lastSeen` are no
     * longer stored.
     */
    attach(response: HttpResponse, lastSeen: number | undefined): boolean {
      const after = lastSeen !== undefined && lastSeen >= start ? lastSeen : undefined;
      const from = after ?? sent;
      const missing = kept.filter(event => event.sequence > from);
      // An event is missing between the last one that the client saw and the first stored one.
      const lost = from > last || (from < last && missing[0]?.sequence !== from + 1);
      // A client that names no event gets all stored events.
      if (lost && after !== undefined) return false;
      if (connection && connection !== response) connection.end();
      connect(response);
      // Each keep-alive comment that the client reads starts this timeout again.
      response.setTimeout(bounds.stalledMs, () => response.destroy());
      response.writeHead(200, { ...eventStreamHeaders, ...extraHeaders });
      response.flushHeaders();
      response.on('close', () => {
        if (connection === response) connect(undefined);
      });
      for (const event of missing) send(event.sequence, event.bytes);
      if (ended) response.end();
      return true;
    },
    /** Sends an event without data, so that the client has an id to resume from. */
    prime(): void {
      const bytes = Buffer.from(`id: ${id}-${++last}\nretry: ${retryMs}\ndata: \n\n`);
      keep(last, bytes);
      send(last, bytes);
    },
    /** Tells the connected client when to reconnect if it loses the connection. `type`: type of the event. */
    sendRetry(type = 'message'): void {
      const named = type === 'message' ? '' : `event: ${type}\n`;
      connection?.write(`${named}retry: ${retryMs}\n\n`);
    },
    /** Sends a comment that keeps the connection open. Call this more often than every `stalledMs`. */
    keepAlive(): void {
      connection?.write(keepAliveComment);
    },
    /** Ends the stream, and its connection once all events are sent. */
    end(): void {
      ended = true;
      connection?.end();
      connect(undefined);
    },
    /** Deletes all stored events and stores no new ones. New events still reach an open connection. */
    discard(): void {
      discarded = true;
      while (kept.length > 0) dropOldest();
    },
  };
}

/** Position of an event in a session: the number of its stream, and its number in the stream. */
export type EventId = { readonly stream: number; readonly sequence: number };

/** Parses an event id of the hub; undefined for any other text. */
export function parseEventId(text: string): EventId | undefined {
  const match = /^(\d{1,15})-(\d{1,15})$/.exec(text);
  return match ? { stream: Number(match[1]), sequence: Number(match[2]) } : undefined;
}

/** States of streams, in the order of eviction: streams in the first state lose their stored events first. */
const ranks = ['ended', 'detached', 'attached'] as const;
type Rank = (typeof ranks)[number];

/** The stored bytes of one stream. Only the budget changes them. */
type Share = { readonly giveUpOldest: () => void; rank: Rank; bytes: number };

export type ReplayBudget = ReturnType<typeof createReplayBudget>;

/**
 * Limits the total size of the events that the streams of all sessions store for clients that reconnect. All
 * operations take constant time, however many streams there are.
 */
export function createReplayBudget(maxBytes: number) {
  /** Streams with stored events, by state, in the order of eviction. */
  const lines: Readonly<Record<Rank, Set<Share>>> = {
    ended: new Set(),
    detached: new Set(),
    attached: new Set(),
  };
  let keptBytes = 0;

  function first(): Share | undefined {
    for (const rank of ranks) for (const share of lines[rank]) return share;
    return undefined;
  }

  return {
    /** Total size of the stored events of all streams, in bytes. */
    get keptBytes() {
      return keptBytes;
    },
    /**
     * Changes the stored bytes of a stream by `byBytes`. Above the maximum, drops the oldest events: first of ended
     * streams, then of streams without a connection, then of connected streams, which need them least.
     */
    resize(share: Share, byBytes: number): void {
      keptBytes += byBytes;
      share.bytes += byBytes;
      if (share.bytes > 0) lines[share.rank].add(share);
      else lines[share.rank].delete(share);
      while (byBytes > 0 && keptBytes > maxBytes) first()?.giveUpOldest();
    },
    /** Updates the state of a stream that ended, or whose connection was opened or lost. */
    rank(share: Share, rank: Rank): void {
      if (share.rank === rank) return;
      lines[share.rank].delete(share);
      share.rank = rank;
      if (share.bytes > 0) lines[rank].add(share);
    },
  };
}
