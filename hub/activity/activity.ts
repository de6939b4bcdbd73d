import { type Event, createEmitter } from '#core';
import type { ActivityFilter, CallDetail, CallRecord, CallSummary, Payload } from './call.ts';
import { createCallColumns, createPayloadRing } from './call-storage.ts';

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
  const { event, fire } = createEmitter<undefined>();
  let lastId = 0;
  let listeners = 0;

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

  /** Fires on each call. It runs on the hot path: listeners must only note that something changed. */
  const changed: Event<undefined> = listener => {
    const subscription = event(listener);
    let isSubscribed = true;
    listeners++;
    return {
      [Symbol.dispose]() {
        subscription[Symbol.dispose]();
        if (isSubscribed) listeners--;
        isSubscribed = false;
      },
    };
  };

  return {
    /** The id of the newest call; 0 before the first call. */
    get lastId(): number {
      return lastId;
    },
    record(call: CallRecord): void {
      lastId++;
      columns.write(lastId % maxCalls, lastId, call, payloads.write(call.request, call.reply));
      if (listeners > 0) fire(undefined);
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
    changed,
  };
}

/** Returns a predicate for all fields of the filter except `before` and `after`, which the caller applies. */
function matcherOf(filter: ActivityFilter): (call: CallSummary) => boolean {
  const { server, tool, client, session, outcome } = filter;
  const text = filter.text?.toLowerCase();
  const includesText = (value: string | undefined) =>
    text !== undefined && value !== undefined && value.toLowerCase().includes(text);
  return call =>
    (server === undefined || call.server === server) &&
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
