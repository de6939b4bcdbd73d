/** Target of a load generator. */
export type Target =
  | { readonly kind: 'mcp'; readonly url: string; readonly tool: string; readonly token?: string }
  | { readonly kind: 'list'; readonly url: string; readonly bytes: number }
  | { readonly kind: 'http'; readonly url: string; readonly bytes: number }
  | { readonly kind: 'process'; readonly serverFile: string }
  | { readonly kind: 'container'; readonly id: string };

/** A measurement: `concurrency` calls at a time for `durationMs`, each answered with a text of `bytes`. */
export type Job = {
  readonly concurrency: number;
  readonly bytes: number;
  readonly durationMs: number;
  /** Number of calls that ends the job before its time is over. */
  readonly calls?: number;
  /** Process whose CPU time is read when the first call is sent and when the last is answered. */
  readonly watchedPid?: number;
};

export type Outcome = {
  readonly calls: number;
  /** Number of replies with a wrong id, payload or status. */
  readonly wrong: number;
  readonly elapsedMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** CPU time of the watched process during the calls, in ms, without that for opening connections. */
  readonly watchedCpuMs: number | undefined;
};

/** Sends call number `id` and passes its complete reply to `done`. At most `concurrency` calls are open at once. */
export type Call = (id: number, bytes: number, done: (reply: Buffer) => void) => void;

/** Returns the request of call number `id`. The result repeats its mark, so no two replies are equal. */
export function requestText(id: number, tool: string, bytes: number): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${tool}","arguments":{"mark":"mark-${id}-","bytes":${bytes}}}}`;
}

/** Returns a request for the list of all tools. */
export const listText = (id: number) => `{"jsonrpc":"2.0","id":${id},"method":"tools/list"}`;

/** True if this is the reply to call number `id`, with at least `bytes` bytes. */
export function isReply(reply: Buffer, id: number, bytes: number): boolean {
  return hasId(reply, id) && reply.length >= bytes && reply.includes(`mark-${id}-`);
}

/** True if the reply has exactly this id. */
export function hasId(reply: Buffer, id: number): boolean {
  const at = reply.indexOf(`"id":${id}`);
  const after = reply[at + String(id).length + 5];
  return at >= 0 && (after === 0x2c || after === 0x7d);
}

/** How a load generator reaches the server. It stays open between jobs. */
export type Way = {
  /** Opens the connections of a job, so that their cost is not measured. */
  begin(concurrency: number): Promise<{ readonly call: Call; readonly end: () => void }>;
};
