import { type Event, createEmitter } from '#core';
import type { ActivityFilter, Call, CallDetail, Payload, Told } from './call.ts';
import { matcherOf } from './filter.ts';
import { createPayloads } from './payloads.ts';
import { createRows } from './rows.ts';

/** The newest calls, in memory only. */
export interface Activity {
  record(call: Told): void;
  /** The newest calls that the filter lets through, the newest first, `limit` of them at the most. */
  list(filter: ActivityFilter, limit: number): readonly Call[];
  /** One call with what was said, as far as it is kept. */
  find(id: number): CallDetail | undefined;
  /** The id of the newest call; 0 before the first. */
  readonly lastId: number;
  /** Fires with each call: listeners must do no more than note it. */
  readonly changed: Event<undefined>;
}

export type ActivityOptions = {
  readonly maxCalls: number;
  /** Of what was said in all calls together, in bytes. */
  readonly maxPayloadBytes: number;
  /** Of each request, and of each reply, in bytes. */
  readonly maxKeptBytes: number;
};

export type ActivityNeeds = {
  /** Removes what may be secret, when a call is looked at: from values of JSON, and from texts, which may be cut. */
  readonly redaction: {
    text(text: string): string;
    json(value: unknown): unknown;
  };
};

/**
 * Keeps calls in arrays that are written over from the start. What comes and goes by the thousand would
 * otherwise outlive the young generation, and be the work of the garbage collector.
 */
export function createActivity(
  { maxCalls, maxPayloadBytes, maxKeptBytes }: ActivityOptions,
  { redaction }: ActivityNeeds,
): Activity {
  const rows = createRows(maxCalls);
  const payloads = createPayloads(maxPayloadBytes, maxKeptBytes);
  const { event, fire } = createEmitter<undefined>();
  let lastId = 0;
  let listeners = 0;

  const isKept = (id: number) => id > 0 && id <= lastId && id > lastId - maxCalls;

  /** What is whole is JSON: the hub has checked it on its way. */
  function payloadOf(bytes: Buffer, length: number): Payload {
    const text = bytes.toString();
    return bytes.length < length
      ? { text: redaction.text(text), isCut: true }
      : { text: JSON.stringify(redaction.json(JSON.parse(text))), isCut: false };
  }

  /** The URI of a resource may hold a password. */
  function shown(call: Call): Call {
    return call.name === undefined ? call : { ...call, name: redaction.text(call.name) };
  }

  return {
    get lastId() {
      return lastId;
    },
    record(call) {
      lastId++;
      rows.write(lastId % maxCalls, lastId, call, payloads.keep(call.request, call.reply));
      if (listeners > 0) fire(undefined);
    },
    list(filter, limit) {
      const matches = matcherOf(filter);
      const from = Math.min(lastId, (filter.before ?? Infinity) - 1);
      const to = Math.max(lastId - maxCalls, filter.after ?? 0);
      const found: Call[] = [];
      for (let id = from; id > to && found.length < limit; id--) {
        const call = rows.read(id % maxCalls);
        if (matches(call)) found.push(shown(call));
      }
      return found;
    },
    find(id) {
      if (!isKept(id)) return undefined;
      const call = rows.read(id % maxCalls);
      const kept = payloads.read(rows.placeOf(id % maxCalls));
      return {
        ...shown(call),
        request: kept && payloadOf(kept.first, call.requestBytes),
        reply: kept && payloadOf(kept.second, call.replyBytes),
      };
    },
    changed(listener) {
      const heard = event(listener);
      let isHeard = true;
      listeners++;
      return {
        [Symbol.dispose]() {
          heard[Symbol.dispose]();
          if (isHeard) listeners--;
          isHeard = false;
        },
      };
    },
  };
}
