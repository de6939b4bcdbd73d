import type { Clock, Log } from '#core';
import type { Channel } from '#jsonrpc';
import type { LaunchSpec } from '#runtimes';
import type { HttpClient } from './http-client.ts';

/** The server of a transport. */
export type Endpoint = Pick<LaunchSpec, 'server' | 'maxLineBytes' | 'maxWaitingBytes'> & {
  readonly url: URL;
  /** Sent with every request. Values may be secrets. */
  readonly headers: Readonly<Record<string, string>>;
  readonly reconnect: Reconnect;
  /** Removes the values of the entry's headers and of its URL from a text. */
  readonly redact: (text: string) => string;
};

/** Backoff for resuming a stream, unless the server sends `retry`. */
export type Reconnect = {
  readonly firstMs: number;
  readonly maxMs: number;
  /** Maximum number of consecutive attempts without an event. */
  readonly attempts: number;
};

export type TransportNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly http: HttpClient;
};

/** An HTTP transport of MCP. */
export type Transport = {
  readonly channel: Channel;
  /** True if the server may use sessions, as far as can be determined without opening one. Never rejects. */
  readonly mayKeepSessions?: (signal: AbortSignal) => Promise<boolean>;
  /** Ends the session at the server. Never rejects. */
  endSession(signal: AbortSignal): Promise<void>;
};
