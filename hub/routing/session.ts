import type { KeyedSlotMap } from '#core';
import type { Message, ReplyBytes } from '#jsonrpc';
import type { LogLevel } from '#mcp';
import type { Principal } from '#policy';
import type { ClientOfSession, Server } from '#servers';
import type { Exchange, Owner } from '#upstream';
import type { Cancellation } from './cancellation.ts';
import type { Offering } from './offering.ts';

/** What a client sees: every server under public names, or one server as it is. */
export type View = 'all' | Server;

/** The ways that clients speak to the hub. */
export type Over = 'http' | 'sse' | 'websocket' | 'stdio';

/** A session as people look at it. Times are milliseconds since the epoch. */
export type OpenSession = {
  readonly id: string;
  /** Name and version that the client gave itself; undefined where it gave none. */
  readonly client: string | undefined;
  readonly over: Over;
  /** The server that it sees alone; undefined where it sees all. */
  readonly server: string | undefined;
  readonly protocolVersion: string | undefined;
  readonly openedAt: number;
  readonly inFlight: number;
};

/** What a client has set in its session since `initialize`. */
export type SessionSettings = {
  readonly logLevel: LogLevel | undefined;
  readonly subscriptions: readonly SavedSubscription[];
};

export type SavedSubscription = {
  readonly server: string;
  readonly uri: string;
  /** The URI by which the client knows the resource. */
  readonly publicUri: string;
};

/** A session of an earlier run of the hub. */
export type EarlierSession = {
  readonly client: ClientOfSession;
  readonly protocolVersion: string;
  /** In milliseconds since the epoch. */
  readonly openedAt: number;
  readonly settings: SessionSettings;
};

/** One connected client. Every transport speaks to the hub through this and nothing else. */
export interface Session {
  /** Who opened it. The transport lets nobody else use it. */
  readonly principal: Principal;
  /** The revision agreed on at `initialize`; undefined before, and for clients that need none. */
  readonly protocolVersion: string | undefined;
  /**
   * Answers a request with the bytes of its JSON-RPC answer: exactly one, and never a rejection. A
   * notification, or an answer of the client, yields nothing. What is said about the request before
   * that goes to the exchange, requests of the server to the client among it. `principal` is who sent
   * the message, with the grants of now.
   */
  accept(
    message: Message,
    exchange: Exchange,
    principal: Principal,
  ): Promise<ReplyBytes | undefined>;
  /** What the next run of the hub needs to resume the session; undefined if it cannot be resumed. */
  save(): SessionSettings | undefined;
  /** Cancels what is in flight and forgets the client. Safe to call twice. */
  close(reason: string): void;
}

/** A request of a server that a client has not answered yet. */
export interface Ask {
  /** Ends it without an answer: the client is told, where it still can be, and who asked learns why. */
  readonly giveUp: (reason: string) => void;
}

/** Who has instances for itself: a session, or a client without one. */
export type InstanceHolder = {
  /** The instances that work for it alone, by the servers that they are instances of. */
  readonly instances: Map<Server, Server>;
  /** What it finds on the endpoint of all servers, where its own instances offer something else. */
  own: Offering | undefined;
};

/** What the router keeps of a session. */
export type SessionState = Owner &
  InstanceHolder & {
    readonly view: View;
    /** Who opened it. */
    readonly principal: Principal;
    /** How its client speaks to the hub. */
    readonly over: Over;
    /** When it was opened, in milliseconds since the epoch. */
    readonly openedAt: number;
    /** It carries single requests, which need no `initialize` before them. */
    readonly isSessionless: boolean;
    /** Tells it from all others. */
    readonly key: string;
    /** To the client, outside any request. Must not throw, and must bound what it keeps. */
    readonly outlet: (bytes: Buffer) => void;
    /** Whether anybody is there: a client that keeps no connection may be gone without a word. */
    readonly isConnected: () => boolean;
    protocolVersion: string | undefined;
    /** What the client said of itself at `initialize`. */
    client: ClientOfSession | undefined;
    logLevel: LogLevel | undefined;
    /** What the newest request of a client without a session asked for; undefined where there was none. */
    requestLevel: LogLevel | 'none' | undefined;
    /** Requests that are being answered, by the client's id as JSON text. */
    readonly inFlight: KeyedSlotMap<Cancellation>;
    /** Called when the client is asked something, and when that is over. */
    readonly asksChanged: () => void;
    /** What the client is asked, by the hub's id as JSON text. */
    readonly clientRequests: Map<string, Ask>;
  };
