import type { Clock } from '#core';
import type { Span } from '#jsonrpc';
import type { LogLevel } from '#mcp';
import type { Server } from '#servers';
import type { Asked } from '#upstream';
import type { Call } from '../call.ts';
import type { ServerReply } from '../reply.ts';
import type { RequestStates } from './request-state.ts';

/** One call at a server, over as many requests of its client as it takes. */
export interface SuspendedCall {
  readonly id: string;
  readonly server: Server;
  /** Identifies the client whose call it is. */
  readonly client: string;
  /** Whether the client is away with questions, may be asked something, or is asked something. */
  readonly isAway: boolean;
  readonly mayAsk: boolean;
  readonly isAsked: boolean;
  /** Asks the client what the server wants to know, as soon as the client can be asked. */
  take(asked: Asked): void;
  /** The answer to the request that it begins with. */
  readonly first: Promise<ServerReply>;
  /** Goes on with what the client answers, by key. Throws HUB_STATE_INVALID in any round but the last. */
  resume(call: Call, round: number, responses: ReadonlyMap<string, Span>): Promise<ServerReply>;
  /** The server does not want to know any more what it asked by this id, which is JSON text. */
  withdrawn(serverId: string): void;
  /** Ends it: the server is told that nobody waits. */
  giveUp(reason: string): void;
}

export type SuspendedCallOptions = {
  readonly id: string;
  readonly client: string;
  /** What the client can be asked. */
  readonly capabilities: { readonly [name: string]: unknown };
  /** The client wants log messages from this level on, or none. */
  readonly logLevel: LogLevel | undefined;
  readonly mayAsk: boolean;
  /** How often the client was sent to pages by this call before. */
  readonly visits: number;
};

export type SuspendedCallNeeds = {
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
  readonly states: RequestStates;
  /** Keeps it while its client is away. Throws HUB_INPUTS_FULL. */
  readonly suspend: (suspended: SuspendedCall) => void;
  readonly forget: (suspended: SuspendedCall) => void;
  /** Called once, when the server works on it no more. */
  readonly over: (suspended: SuspendedCall) => void;
  /** The calls in flight of the same client at the same server, the oldest first. */
  readonly callsWith: (suspended: SuspendedCall) => readonly SuspendedCall[];
  /** Whether that client is asked anything on behalf of the server. */
  readonly isAsked: (suspended: SuspendedCall) => boolean;
};
