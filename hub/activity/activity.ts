import { Buffer } from 'node:buffer';
import { createEmitter, parseExactly } from '#core';
import { createCallColumns } from './call-columns.ts';
import type {
  ActivityFilter,
  Bytes,
  CallDetail,
  CallRecord,
  CallSummary,
  Payload,
} from './call.ts';
import { createPayloadRing, noPayload } from './payload-ring.ts';

type ActivityOptions = {
  readonly maxCalls: number;
  /** Maximum size of the stored messages of all calls together, in bytes. */
  readonly maxPayloadBytes: number;
  /** Maximum stored size of a request, and of a reply, in bytes. Longer messages are truncated. */
  readonly maxKeptBytes: number;
};

/** Reads stored calls of earlier runs of the hub. */
type EarlierCalls = {
  /** Id of the newest stored call; 0 if there is none. */
  readonly lastId: number;
  /** Reads the newest calls, at most `most`, in any order. Never rejects. */
  read(most: number): Promise<readonly CallSummary[]>;
};

/** Keeps the newest calls in memory. */
export type Activity = ReturnType<typeof createActivity>;

const none: EarlierCalls = { lastId: 0, read: async () => [] };

/**
 * Creates an activity log. Calls are stored in preallocated ring buffers: thousands of short-lived
 * objects would survive the young generation and burden the garbage collector.
 */
export function createActivity(
  { maxCalls, maxPayloadBytes, maxKeptBytes }: ActivityOptions,
  needs: {
    /** Removes secrets when a call is read: `json` from JSON values, `text` from texts, which may be truncated. */
    readonly redaction: {
      text(text: string): string;
      json(value: unknown): unknown;
    };
    readonly earlier?: EarlierCalls;
  },
) {
  const { redaction, earlier = none } = needs;
  const firstId = earlier.lastId + 1;
  const columns = createCallColumns(maxCalls);
  const payloads = createPayloadRing(maxPayloadBytes, maxKeptBytes);
  const { event: changed, fire } = createEmitter<undefined>();
  let lastId = earlier.lastId;
  let restored: Promise<void> | undefined;
  const slotOf = (id: number) => (((id - firstId) % maxCalls) + maxCalls) % maxCalls;

  /** An uncut message is valid JSON: the hub checked it when it was relayed. */
  function payloadOf(bytes: Buffer, length: number): Payload {
    const text = bytes.toString();
    return bytes.length < length
      ? { text: redaction.text(text), isCut: true }
      : { text: JSON.stringify(redaction.json(parseExactly(text))), isCut: false };
  }

  /** Redacts the name, because the URI of a resource may contain a password. */
  function redacted(call: CallSummary): CallSummary {
    return call.name === undefined ? call : { ...call, name: redaction.text(call.name) };
  }

  async function restore(): Promise<void> {
    if (earlier.lastId === 0) return;
    const calls = await earlier.read(maxCalls);
    if (calls.length > 0) columns.allocate();
    for (const call of calls) {
      const { id, requestBytes, replyBytes } = call;
      // Calls of this run may already occupy the slots of the oldest stored calls.
      if (id < firstId && id > lastId - maxCalls)
        columns.write(slotOf(id), id, call, requestBytes, replyBytes, noPayload);
    }
  }

  return {
    /** Id of the newest call; 0 before the first call. */
    get lastId(): number {
      return lastId;
    },
    /**
     * Resolves when the lists also contain calls of earlier runs. They are read at the first call of `restored`, so
     * that a hub whose activity is never viewed does not read them.
     */
    restored: (): Promise<void> => (restored ??= restore()),
    record(call: CallRecord): void {
      lastId++;
      const { request, reply } = call;
      const range = payloads.write(request, reply);
      columns.write(slotOf(lastId), lastId, call, lengthOf(request), lengthOf(reply), range);
      fire(undefined);
    },
    /** Returns the newest calls that match a filter, the newest first, at most `limit`. */
    list(filter: ActivityFilter, limit: number): readonly CallSummary[] {
      const matches = matcherOf(filter);
      const from = Math.min(lastId, (filter.before ?? Infinity) - 1);
      const to = Math.max(lastId - maxCalls, filter.after ?? 0);
      const found: CallSummary[] = [];
      for (let id = from; id > to && found.length < limit; id--) {
        if (!columns.has(slotOf(id), id)) continue;
        const call = columns.read(slotOf(id));
        if (matches(call)) found.push(redacted(call));
      }
      return found;
    },
    /** Returns when the last call of each session began, in milliseconds since the epoch, in one pass. */
    lastBySession(): ReadonlyMap<string, number> {
      const found = new Map<string, number>();
      for (let id = lastId; id > 0 && id > lastId - maxCalls; id--) {
        if (!columns.has(slotOf(id), id)) continue;
        const { session, at } = columns.read(slotOf(id));
        if (!found.has(session)) found.set(session, at);
      }
      return found;
    },
    /**
     * Passes this run's calls after an id to a function, the oldest first, at most `limit`, with unredacted names.
     * Returns the id of the last one.
     */
    visit(after: number, limit: number, visitor: (call: CallSummary) => void): number {
      const from = Math.max(after, lastId - maxCalls, firstId - 1) + 1;
      const to = Math.min(lastId, from + limit - 1);
      for (let id = from; id <= to; id++) visitor(columns.read(slotOf(id)));
      return Math.max(after, to);
    },
    /** Returns a call with its messages, if they are still stored; undefined if the call is no longer stored. */
    find(id: number): CallDetail | undefined {
      const isStored = id > 0 && id <= lastId && id > lastId - maxCalls;
      if (!isStored || !columns.has(slotOf(id), id)) return undefined;
      const call = columns.read(slotOf(id));
      const messages = payloads.read(columns.rangeOf(slotOf(id)));
      return {
        ...redacted(call),
        request: messages && payloadOf(messages.first, call.requestBytes),
        reply: messages && payloadOf(messages.second, call.replyBytes),
      };
    },
    /** Fires on each call, on the hot path: listeners may only note that something has changed. */
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

function lengthOf(bytes: Bytes): number {
  if (Buffer.isBuffer(bytes)) return bytes.length;
  let length = 0;
  for (const part of bytes) length += part.length;
  return length;
}
