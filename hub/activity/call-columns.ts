import { Buffer } from 'node:buffer';
import type { CallRecord, CallSummary } from './call.ts';
import type { PayloadRange } from './payload-ring.ts';

type Stored = Omit<CallRecord, 'request' | 'reply'>;

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
    /** Allocates all slots, so that calls can be written in any order: a gap would make an array slow. */
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
    /** Whether the slot contains the call with this id. */
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
