import { Buffer } from 'node:buffer';
import type { CallRecord, CallSummary } from './call.ts';
import type { PayloadRange } from './payload-ring.ts';

type Stored = Omit<CallRecord, 'request' | 'reply'>;

/** Stores calls by slot number, in one array per field. Writing a call allocates no objects. */
export function createCallColumns(count: number) {
  const numbers = () => new Float64Array(count);
  const lengths = () => new Uint32Array(count);
  const [ids, at, took, atServer, from] = [numbers(), numbers(), numbers(), numbers(), numbers()];
  const [requests, replies] = [lengths(), lengths()];
  const [keptRequests, keptReplies] = [lengths(), lengths()];
  // These arrays grow to `count` entries as calls are written.
  const methods: string[] = [];
  const names: (string | undefined)[] = [];
  const servers: (string | undefined)[] = [];
  const sessions: string[] = [];
  const clients: (string | undefined)[] = [];
  const outcomes: string[] = [];
  const [knownMethods, knownNames] = [createInterner(), createInterner()];

  return {
    write(
      slot: number,
      id: number,
      call: Stored,
      requestBytes: number,
      replyBytes: number,
      range: PayloadRange,
    ): void {
      ids[slot] = id;
      at[slot] = call.at;
      took[slot] = call.tookMs;
      atServer[slot] = call.serverMs;
      requests[slot] = requestBytes;
      replies[slot] = replyBytes;
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
    /** Fills all slots, so that calls can be written in any order: gaps make an array slow. */
    allocate(): void {
      for (let slot = methods.length; slot < count; slot++) {
        methods.push('');
        names.push(undefined);
        servers.push(undefined);
        sessions.push('');
        clients.push(undefined);
        outcomes.push('');
      }
    },
    /** True if the slot contains the call with this id. */
    has: (slot: number, id: number): boolean => ids[slot] === id,
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

/** Maximum number of shared strings; then all are dropped. Clients choose the names, so their number needs a limit. */
const maxStrings = 2_000;
/** Maximum length of a stored name in characters. Longer names are truncated: a data URI may contain a document. */
const maxInternedLength = 300;

/** Returns one string for equal texts, so that a thousand calls of one tool store its name once. */
function createInterner() {
  const known = new Map<string, string>();
  let last = '';
  return {
    intern(text: string): string {
      // Consecutive calls usually have the same name.
      if (text === last) return last;
      const found = known.get(text);
      if (found !== undefined) return (last = found);
      if (known.size >= maxStrings) known.clear();
      // Copied through a Buffer, as a slice would keep the whole original string in memory.
      const stored =
        text.length > maxInternedLength
          ? Buffer.from(`${text.slice(0, maxInternedLength)}…`).toString()
          : text;
      known.set(stored, stored);
      return stored;
    },
  };
}
