import { type HttpResponse, eventStreamHeaders, keepAliveComment } from './http-message.ts';

/** Bounds of the events kept for clients that reconnect, and of what a connection may leave unread. */
type StreamBounds = {
  readonly maxEvents: number;
  readonly maxBytes: number;
  /** A connection with more unsent bytes is dropped; its client may resume. */
  readonly maxUnsentBytes: number;
  /** A connection that accepts no bytes for this long is dropped. */
  readonly stalledMs: number;
};

export type EventStream = ReturnType<typeof createEventStream>;

const messageEnd = Buffer.from('\n\n');
/** Delay before a client reconnects, in milliseconds. */
const retryMs = 1_000;
/** Memory of an event besides its bytes. */
const eventCostBytes = 512;

/**
 * A server-sent event stream that outlives its connection. The newest events are kept, and a client that names the id
 * of its last event gets the following ones (MCP 2025-11-25, resumability). The first event has the number behind
 * `start`.
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
  /** The newest event that was sent on a connection. */
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
    // An event that does not fit leaves a gap, so the events before it are useless.
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
    /** The number of the newest event. */
    get last() {
      return last;
    },
    get attached() {
      return connection !== undefined;
    },
    /** Sends a message, or keeps it for the next connection. */
    write(message: Buffer): void {
      const head = Buffer.from(`id: ${id}-${++last}\ndata: `);
      const bytes = Buffer.concat([head, message, messageEnd]);
      keep(last, bytes);
      send(last, bytes);
    },
    /**
     * Gives the stream a connection and sends the events after `lastSeen`; without `lastSeen`, or with one of an earlier
     * run of the hub, the events that were not sent yet. False if some of those events are no longer kept.
     */
    attach(response: HttpResponse, lastSeen: number | undefined): boolean {
      const after = lastSeen !== undefined && lastSeen >= start ? lastSeen : undefined;
      const from = after ?? sent;
      const missing = kept.filter(event => event.sequence > from);
      // An event between the last one seen and the first one kept is lost.
      const lost = from > last || (from < last && missing[0]?.sequence !== from + 1);
      // A client that names no event gets the kept ones.
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
    /** Sends a comment that keeps the connection open. Due within `stalledMs`. */
    keepAlive(): void {
      connection?.write(keepAliveComment);
    },
    /** Ends the stream, and its connection after all events are sent. */
    end(): void {
      ended = true;
      connection?.end();
      connect(undefined);
    },
    /** Forgets all kept events and keeps no new ones. New events still reach an open connection. */
    discard(): void {
      discarded = true;
      while (kept.length > 0) dropOldest();
    },
  };
}

/** An event of a session: its stream and its position there. */
export type EventId = { readonly stream: number; readonly sequence: number };

/** Parses an event id of the hub. */
export function parseEventId(text: string): EventId | undefined {
  const match = /^(\d{1,15})-(\d{1,15})$/.exec(text);
  return match ? { stream: Number(match[1]), sequence: Number(match[2]) } : undefined;
}

/** The order in which streams give up their events. */
const ranks = ['ended', 'detached', 'attached'] as const;
type Rank = (typeof ranks)[number];

/** The kept bytes of one stream. Only the budget changes it. */
type Share = { readonly giveUpOldest: () => void; rank: Rank; bytes: number };

export type ReplayBudget = ReturnType<typeof createReplayBudget>;

/**
 * Bounds the events that the streams of all sessions together keep for clients that reconnect. All operations take
 * constant time, however many streams there are.
 */
export function createReplayBudget(maxBytes: number) {
  /** The streams with kept events, in the order in which they give them up. */
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
    /** Sum over all streams. */
    get keptBytes() {
      return keptBytes;
    },
    /**
     * The stream keeps this many bytes more, or fewer. Above the bound, streams give up their oldest events: those that
     * ended first, then those without a connection, then those with one, which need them least.
     */
    resize(share: Share, byBytes: number): void {
      keptBytes += byBytes;
      share.bytes += byBytes;
      if (share.bytes > 0) lines[share.rank].add(share);
      else lines[share.rank].delete(share);
      while (byBytes > 0 && keptBytes > maxBytes) first()?.giveUpOldest();
    },
    /** The stream ended, or its connection was opened or lost. */
    rank(share: Share, rank: Rank): void {
      if (share.rank === rank) return;
      lines[share.rank].delete(share);
      share.rank = rank;
      if (share.bytes > 0) lines[rank].add(share);
    },
  };
}
