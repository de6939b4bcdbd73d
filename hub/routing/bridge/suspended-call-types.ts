import type { Clock } from '#core';
import type { Span } from '#jsonrpc';
import type { LogLevel } from '#mcp';
import type { Server } from '#servers';
import type { ForwardedRequest, ServerConnection } from '#upstream';
import type { Call, ServerReply } from '../call.ts';
import type { RequestStates } from './request-state.ts';

/** A call at a server, which may span several requests of its client. */
export interface SuspendedCall {
  readonly id: string;
  readonly server: Server;
  readonly client: string;
  /** Size in bytes of the first request of the call. */
  readonly requestBytes: number;
  /** True while the client has questions to answer and no request is open. */
  readonly isAway: boolean;
  /** True as soon as the server's answer was read. Further messages may be read before `first` resolves. */
  readonly isAnswered: boolean;
  /** True if the method of the call allows questions to the client. */
  readonly mayAsk: boolean;
  /** True while a question of the server is open. */
  readonly hasOpenRequest: boolean;
  /** Sends the server's question to the client, as soon as a request of the client is open. */
  take(serverRequest: ForwardedRequest): void;
  /** The reply to the first request of the call. */
  readonly first: Promise<ServerReply>;
  /** Continues the call with the client's answers, by key. Throws HUB_STATE_INVALID for any round but the last. */
  resume(call: Call, round: number, responses: ReadonlyMap<string, Span>): Promise<ServerReply>;
  /** The server cancelled the question with this id on this connection. `serverId`: JSON text. */
  withdrawn(connection: ServerConnection, serverId: string): void;
  /** Ends the call and cancels it at the server. */
  giveUp(reason: string): void;
}

export type SuspendedCallOptions = {
  readonly id: string;
  readonly client: string;
  readonly capabilities: { readonly [name: string]: unknown };
  /** Minimum level of the log messages that the client wants; undefined for none. */
  readonly logLevel: LogLevel | undefined;
  readonly mayAsk: boolean;
  /** Number of times that this call already sent the client to pages (URL elicitation). */
  readonly visits: number;
};

export type SuspendedCallNeeds = {
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
  readonly states: RequestStates;
  /** Stores the call while the client is away. Throws HUB_INPUTS_FULL. */
  readonly suspend: (suspended: SuspendedCall) => void;
  readonly forget: (suspended: SuspendedCall) => void;
  /** Called once, when the server has finished the call. */
  readonly over: (suspended: SuspendedCall) => void;
  /** The calls in flight of the same client at the same server, oldest first. */
  readonly callsWith: (suspended: SuspendedCall) => readonly SuspendedCall[];
  /** True if the client is being asked a question of the server. */
  readonly hasOpenRequest: (suspended: SuspendedCall) => boolean;
};
