import type { Code } from '#core';
import type { ReplyBytes } from '#jsonrpc';

/** The answer to a request, with its outcome and server time. */
export type Reply = {
  /** The whole JSON-RPC answer with the client's id. */
  readonly bytes: ReplyBytes;
  /** `tool_error`: a result with `isError`. `error`: an error of the server. A code: an error of the hub. */
  readonly outcome: 'ok' | 'tool_error' | 'error' | Code;
  /** Time that servers worked on the request, in milliseconds. */
  readonly serverMs: number;
};

/** A reply made from the answer of a server. */
export type ServerReply = Reply & { readonly bytes: Buffer };

/** A reply with a result made by the hub. */
export const hubReply = (bytes: ReplyBytes): Reply => ({ bytes, outcome: 'ok', serverMs: 0 });

/** A request that failed after it was sent to a server. Steps read this error; clients get `error`. */
export class FailedCall extends Error {
  readonly error: unknown;
  readonly serverMs: number;

  constructor(error: unknown, serverMs: number) {
    super('the call failed at its server', { cause: error });
    this.error = error;
    this.serverMs = serverMs;
  }
}
