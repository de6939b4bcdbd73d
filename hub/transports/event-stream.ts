import type { HttpResponse } from './http-message.ts';
import type { ReplayBudget, Share } from './replay-budget.ts';

/** How much of a stream is kept for clients that lost their connection, and how far one may lag. */
export type StreamBounds = {
  readonly maxEvents: number;
  readonly maxBytes: number;
  /** A connection with more than this unsent is dropped: its client resumes, or is gone. */
  readonly maxUnsentBytes: number;
  /** A connection that takes nothing of what waits for it for this long is dropped. */
  readonly stalledMs: number;
};

/**
 * A server-sent event stream that outlives its connection: events have ids, the newest are kept, and
 * a client that names the last it saw gets the rest (MCP 2025-11-25, resumability).
 */
export interface EventStream {
  readonly id: number;
  readonly attached: boolean;
  /** True once `end` was called: no event follows any more. */
  readonly ended: boolean;
  /** Sends one message, or keeps it until a connection comes. */
  write(message: Buffer): void;
  /**
   * Gives the stream a connection and sends what follows the event `after`; without `after`, or with one of an
   * earlier run of the hub, what no connection was sent yet. False where that is not kept any more.
   */
  attach(response: HttpResponse, after: number | undefined): boolean;
  /** Sends an event without data, by which the client learns an id to resume from. */
  prime(): void;
  /** A comment that keeps proxies and sockets from giving up on a silent stream, due within `stalledMs`. */
  keepAlive(): void;
  /** No more events: the connection ends when all is sent. */
  end(): void;
  /** Forgets what is kept, and keeps nothing from here on. What is written still reaches a connection. */
  discard(): void;
}

type Kept = { readonly sequence: number; readonly bytes: Buffer };

const headers = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;

const messageEnd = Buffer.from('\n\n');
/** How soon a client may come back after a lost connection, in milliseconds. */
const retryMs = 1_000;
/** What an event takes in memory besides its bytes, with its part of the stream around it. */
const eventCostBytes = 512;

export function createEventStream(
  id: number,
  bounds: StreamBounds,
  budget: ReplayBudget,
  extraHeaders: Readonly<Record<string, string>>,
  /** The first event has the number behind this one. */
  start = 0,
): EventStream {
  const kept: Kept[] = [];
  let keptBytes = 0;
  const share: Share = { giveUpOldest: dropOldest, rank: 'detached', bytes: 0 };
  let discarded = false;
  let last = start;
  /** The newest event that some connection was sent. */
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
    // What does not fit leaves a gap, behind which nothing before it is of use.
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
    get attached() {
      return connection !== undefined;
    },
    get ended() {
      return ended;
    },
    write(message) {
      const sequence = ++last;
      const head = Buffer.from(`id: ${id}-${sequence}\ndata: `);
      const bytes = Buffer.concat([head, message, messageEnd]);
      keep(sequence, bytes);
      send(sequence, bytes);
    },
    attach(response, lastSeen) {
      const after = lastSeen !== undefined && lastSeen >= start ? lastSeen : undefined;
      const from = after ?? sent;
      const missing = kept.filter(event => event.sequence > from);
      // Something between the last event seen and the first one kept is lost for good.
      const lost = from > last || (from < last && missing[0]?.sequence !== from + 1);
      // A client that names no event is content with what is kept.
      if (lost && after !== undefined) return false;
      if (connection && connection !== response) connection.end();
      connect(response);
      // The comments of `keepAlive` count as movement, unless they wait for a client that does not read.
      response.setTimeout(bounds.stalledMs, () => response.destroy());
      response.writeHead(200, { ...headers, ...extraHeaders });
      response.flushHeaders();
      response.on('close', () => {
        if (connection === response) connect(undefined);
      });
      for (const event of missing) send(event.sequence, event.bytes);
      if (ended) response.end();
      return true;
    },
    prime() {
      const sequence = ++last;
      const bytes = Buffer.from(`id: ${id}-${sequence}\nretry: ${retryMs}\ndata: \n\n`);
      keep(sequence, bytes);
      send(sequence, bytes);
    },
    keepAlive() {
      connection?.write(': keep-alive\n\n');
    },
    end() {
      ended = true;
      connection?.end();
      connect(undefined);
    },
    discard() {
      discarded = true;
      while (kept.length > 0) dropOldest();
    },
  };
}

/** Reads an event id of ours: which stream, and where in it. */
export function parseEventId(
  text: string,
): { readonly stream: number; readonly sequence: number } | undefined {
  const match = /^(\d{1,15})-(\d{1,15})$/.exec(text);
  return match ? { stream: Number(match[1]), sequence: Number(match[2]) } : undefined;
}
