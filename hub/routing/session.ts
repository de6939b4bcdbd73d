import type { LogLevel, Message } from '#rpc';
import type { Relayed, Server } from '#servers';

/** What a client sees: every server under public names, or one server as it is. */
export type View = 'all' | Server;

/**
 * Where messages go that the hub sends about a request while it works on it, so that a transport can
 * put them on the stream of that request.
 */
export interface Exchange {
  related(bytes: Buffer): void;
}

/** One connected client. Every transport speaks to the hub through this and nothing else. */
export interface Session {
  /** The revision agreed on at `initialize`; undefined before. */
  readonly protocolVersion: string | undefined;
  /**
   * Answers a request with the bytes of its JSON-RPC answer: exactly one, and never a rejection. A
   * notification, or an answer of the client, yields nothing.
   */
  accept(message: Message, exchange: Exchange): Promise<Buffer | undefined>;
  /** Cancels what is in flight and forgets the client. Safe to call twice. */
  close(reason: string): void;
}

/** What the router keeps of a session. */
export type SessionState = {
  readonly view: View;
  /** To the client, outside any request. Must not throw, and must bound what it keeps. */
  readonly outlet: (bytes: Buffer) => void;
  protocolVersion: string | undefined;
  logLevel: LogLevel | undefined;
  /** Requests that a server works on or will, by the client's id as JSON text. */
  readonly inFlight: Map<string, Pick<Relayed, 'cancel'>>;
};
