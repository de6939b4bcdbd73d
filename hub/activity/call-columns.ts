import type { CallRecord, CallSummary } from './call.ts';
import { createInterner } from './interner.ts';
import { type PayloadRange, lengthOf } from './payload-ring.ts';

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
