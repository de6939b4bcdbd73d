/** What the load generator speaks to. */
export type Target =
  | { readonly kind: 'mcp'; readonly url: string; readonly tool: string; readonly token?: string }
  | { readonly kind: 'list'; readonly url: string; readonly bytes: number }
  | { readonly kind: 'http'; readonly url: string; readonly bytes: number }
  | { readonly kind: 'process'; readonly serverFile: string }
  | { readonly kind: 'container'; readonly id: string };

/** One measurement: calls for some time, so many at once, each answered with a text of `bytes`. */
export type Job = {
  readonly concurrency: number;
  readonly bytes: number;
  readonly durationMs: number;
  /** Ends the job before its time is over. */
  readonly calls?: number;
  /** A process whose processor time is read as the first call is sent, and when the last is answered. */
  readonly watchedPid?: number;
};

export type Outcome = {
  readonly calls: number;
  /** Replies with another id, another payload or another status than what was asked for. */
  readonly wrong: number;
  readonly elapsedMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time of the watched process while calls were made, in ms: what opening connections took is not in it. */
  readonly watchedCpuMs: number | undefined;
};

/** Sends call number `id` and gives its whole reply. At most `concurrency` calls are open at once. */
export type Call = (id: number, bytes: number, done: (reply: Buffer) => void) => void;

/** The request of call number `id`. The mark comes back in the result: no two replies are the same. */
export function requestText(id: number, tool: string, bytes: number): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${tool}","arguments":{"mark":"mark-${id}-","bytes":${bytes}}}}`;
}

/** A request for the list of all tools. */
export const listText = (id: number) => `{"jsonrpc":"2.0","id":${id},"method":"tools/list"}`;

/** True for the reply to that request and to no other. */
export function isReply(reply: Buffer, id: number, bytes: number): boolean {
  return hasId(reply, id) && reply.length >= bytes && reply.includes(`mark-${id}-`);
}

/** True where the reply has that id and no other. */
export function hasId(reply: Buffer, id: number): boolean {
  const at = reply.indexOf(`"id":${id}`);
  const after = reply[at + String(id).length + 5];
  return at >= 0 && (after === 0x2c || after === 0x7d);
}

/** A way to the server that is open for as long as it is asked for. */
export type Way = {
  /** Opens what a job needs, so that none of it is counted. */
  begin(concurrency: number): Promise<{ readonly call: Call; readonly end: () => void }>;
};
