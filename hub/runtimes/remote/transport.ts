import type { Clock, Log } from '#core';
import type { Channel } from '#jsonrpc';
import type { LaunchSpec } from '#runtimes';
import type { HttpClient } from './http-client.ts';

/** The server that a transport speaks to. */
export type Endpoint = Pick<LaunchSpec, 'server' | 'maxLineBytes' | 'maxWaitingBytes'> & {
  readonly url: URL;
  /** Sent with every request. Values may be secrets. */
  readonly headers: Readonly<Record<string, string>>;
  readonly reconnect: Reconnect;
  /** Takes out of a text what the entry says in its headers and in the query of its address. */
  readonly redact: (text: string) => string;
};

/** How a stream that broke is opened again, where the server says nothing else by `retry`. */
export type Reconnect = {
  readonly firstMs: number;
  readonly maxMs: number;
  /** Attempts in a row that bring nothing. */
  readonly attempts: number;
};

export type TransportNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly http: HttpClient;
};

/** A way to speak MCP over HTTP. */
export type Transport = {
  readonly channel: Channel;
  /** Whether the server may keep sessions, as far as that is told without opening one. Never rejects. */
  readonly mayKeepSessions?: (signal: AbortSignal) => Promise<boolean>;
  /** Tells the server that the session is over. Never rejects. */
  endSession(signal: AbortSignal): Promise<void>;
};
