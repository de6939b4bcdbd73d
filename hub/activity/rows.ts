import type { Call, Told } from './call.ts';
import { createNames } from './names.ts';
import { type Place, lengthOf } from './payloads.ts';

/** Calls by slots, of which there are as many as are kept. */
export interface Rows {
  write(slot: number, id: number, call: Told, place: Place): void;
  /** What was written there last. */
  read(slot: number): Call;
  /** Where the beginnings of its messages stand. */
  placeOf(slot: number): Place;
}

/** A column for each member: writing a call makes nothing that stays behind. */
export function createRows(count: number): Rows {
  const numbers = () => new Float64Array(count);
  const lengths = () => new Uint32Array(count);
  const [ids, at, took, atServer, from] = [numbers(), numbers(), numbers(), numbers(), numbers()];
  const [requests, replies, keptRequests, keptReplies] = [
    lengths(),
    lengths(),
    lengths(),
    lengths(),
  ];
  // These grow to their full length with the calls.
  const methods: string[] = [];
  const names: (string | undefined)[] = [];
  const servers: (string | undefined)[] = [];
  const sessions: string[] = [];
  const clients: (string | undefined)[] = [];
  const outcomes: string[] = [];
  const [knownMethods, knownNames] = [createNames(), createNames()];

  return {
    write(slot, id, call, place) {
      ids[slot] = id;
      at[slot] = call.at;
      took[slot] = call.tookMs;
      atServer[slot] = call.serverMs;
      requests[slot] = lengthOf(call.request);
      replies[slot] = lengthOf(call.reply);
      from[slot] = place.from;
      keptRequests[slot] = place.firstBytes;
      keptReplies[slot] = place.secondBytes;
      methods[slot] = knownMethods.of(call.method);
      names[slot] = call.name === undefined ? undefined : knownNames.of(call.name);
      servers[slot] = call.server;
      sessions[slot] = call.session;
      clients[slot] = call.client;
      outcomes[slot] = call.outcome;
    },
    read: slot => ({
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
    placeOf: slot => ({
      from: from[slot] ?? 0,
      firstBytes: keptRequests[slot] ?? 0,
      secondBytes: keptReplies[slot] ?? 0,
    }),
  };
}
