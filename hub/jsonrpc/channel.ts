import type { Message } from './message.ts';

/** Why a channel ended. `error` is set where it did not end by itself or by `close`. */
export type Closed = { readonly reason: string; readonly error?: Error };

/** What came in on a channel, in the order in which it came. Must not throw. */
export type Receiver = {
  /**
   * `about` is the id, as JSON text, of the request that the message came in reply to, where its way
   * tells that: over HTTP each request has a way of its own.
   */
  message(message: Message, about?: string): void;
  /** A line above the bound, discarded. `id` is that of an answer, as JSON text, where one was seen. */
  oversized(line: { readonly id: string | undefined; readonly bytes: number }): void;
  /** Output that is no JSON-RPC message, shortened; of a line that was cut off only how long it is. */
  noise(text: string): void;
};

/**
 * A duplex stream of JSON-RPC messages: newline-framed stdio, a WebSocket, an HTTP session, or a
 * linked pair in tests. Messages are handed over as they come (decisions/0003): what a receiver
 * cannot pass on it must bound or drop, so that one slow reader never stops the others.
 */
export interface Channel {
  /** Begins to hand over what comes in. Called once; what came before has been kept. */
  listen(receiver: Receiver): void;
  /** True where what comes in reply to a request says so by its way, as `about` of `Receiver.message`. */
  readonly tellsWhose?: boolean;
  /**
   * Sends one message, without a line break in it. Messages of one turn of the event loop go out as
   * one write. Throws HUB_SERVER_BUSY above the bound of bytes that wait, HUB_SERVER_DOWN once closed.
   */
  send(bytes: Buffer): void;
  /**
   * Reads no more until `resume`, so that the other end has to wait with what it writes. What has been read
   * already is still handed over. Absent where the other end cannot be held back.
   */
  readonly pause?: () => void;
  readonly resume?: () => void;
  /** Settles exactly once and never rejects: closing is an ordinary event. */
  readonly closed: Promise<Closed>;
  /** Closes for writing and reading. Safe to call twice. */
  close(reason: string): void;
}
