import type { Message } from './message.ts';

/** Why a channel closed. `error` is set if it failed. */
export type Closed = { readonly reason: string; readonly error?: Error };

/** Receives the messages of a channel, in order. Must not throw. */
export type Receiver = {
  /**
   * Called for each message. `about`: id, as JSON text, of the request on whose response the message arrived. Known
   * only over HTTP, where each request has its own response.
   */
  message(message: Message, about?: string): void;
  /** Called for a discarded oversized line. `id`: id of the response as JSON text, if the line is a response. */
  oversized(line: { readonly id: string | undefined; readonly bytes: number }): void;
  /**
   * Called with output that is not a JSON-RPC message, truncated. For an incomplete line, the text gives only its
   * length.
   */
  noise(text: string): void;
};

/**
 * A duplex stream of JSON-RPC messages: stdio, a WebSocket, an HTTP session, or a linked pair in tests. Messages are
 * pushed (decisions/0003): a receiver must bound or drop messages that it cannot forward, so that a slow reader never
 * blocks others.
 */
export interface Channel {
  /** Sets the receiver, which also gets the messages queued before. Call this once. */
  listen(receiver: Receiver): void;
  /** True if the channel passes `about` to `Receiver.message`. */
  readonly tellsWhose?: boolean;
  /**
   * Sends a message without line breaks. Messages of one turn of the event loop are combined into one write. Throws
   * HUB_SERVER_BUSY if too many bytes are waiting, and HUB_SERVER_DOWN after the end.
   */
  send(bytes: Buffer): void;
  /** Stops reading until `resume`; a few messages that were read before may still arrive. Absent: not supported. */
  readonly pause?: () => void;
  readonly resume?: () => void;
  /** Resolves when the channel has closed. Never rejects. */
  readonly closed: Promise<Closed>;
  /** Closes both directions. May be called several times. */
  close(reason: string): void;
}
