import type { KeyedSlotMap } from '#core';
import type { Message, ReplyBytes } from '#jsonrpc';
import type { LogLevel } from '#mcp';
import type { Principal } from '#policy';
import type { ClientOfSession, Server } from '#servers';
import type { ResponseStream, Owner } from '#upstream';
import type { Cancellation } from './cancellation.ts';
import type { Offering } from './offering.ts';

/** The endpoint of a client: all servers under public names, or one server unchanged. */
export type Endpoint = 'all' | Server;

/** Transports between clients and the hub. */
export type Over = 'http' | 'sse' | 'websocket' | 'stdio';

/** A session as shown to operators. Times are in milliseconds since the epoch. */
export type OpenSession = {
  readonly id: string;
  /** Name and version of the client; undefined if the client gave none. */
  readonly client: string | undefined;
  readonly over: Over;
  /** The server of the session's endpoint; undefined if the session sees all servers. */
  readonly server: string | undefined;
  readonly protocolVersion: string | undefined;
  readonly openedAt: number;
  readonly inFlight: number;
};

/** Settings that a client made in its session after `initialize`. */
export type SessionSettings = {
  readonly logLevel: LogLevel | undefined;
  readonly subscriptions: readonly SavedSubscription[];
};

export type SavedSubscription = {
  readonly server: string;
  readonly uri: string;
  /** The client's URI for the resource. */
  readonly publicUri: string;
};

/** A session of an earlier run of the hub. */
export type EarlierSession = {
  readonly client: ClientOfSession;
  readonly protocolVersion: string;
  /** Time of opening, in milliseconds since the epoch. */
  readonly openedAt: number;
  readonly settings: SessionSettings;
};

/** One connected client. Transports use only this interface of the hub. */
export interface Session {
  /** The principal that opened the session. The transport refuses all others. */
  readonly principal: Principal;
  /** The revision negotiated at `initialize`; undefined before, and for stateless clients. */
  readonly protocolVersion: string | undefined;
  /**
   * Answers a request with the bytes of its JSON-RPC answer: exactly one, and never a rejection. Returns nothing for
   * a notification or an answer of the client. Messages about the request before its answer go to the response stream,
   * including requests of the server to the client. `principal` is the sender of the message, with its current
   * grants.
   */
  accept(
    message: Message,
    responseStream: ResponseStream,
    principal: Principal,
  ): Promise<ReplyBytes | undefined>;
  /** The data that the next run of the hub needs to resume the session; undefined if it cannot be resumed. */
  save(): SessionSettings | undefined;
  /** Cancels the requests in flight and removes the client. Safe to call twice. */
  close(reason: string): void;
}

/** A request of a server that waits for the client's answer. */
export interface OpenRequest {
  /**
   * Ends the request without an answer. The client is told if it can still be reached, and the server gets the
   * reason.
   */
  readonly giveUp: (reason: string) => void;
}

/** A holder of its own instances: a session, or a client without one. */
export type InstanceHolder = {
  /** The instances that serve only this holder, by their server. */
  readonly instances: Map<Server, Server>;
  /** The holder's own offering on the endpoint of all servers, if its instances offer different items. */
  own: Offering | undefined;
};

/** The router's state of a session. */
export type SessionState = Owner &
  InstanceHolder & {
    readonly endpoint: Endpoint;
    /** The principal that opened the session. */
    readonly principal: Principal;
    /** The transport of the client. */
    readonly over: Over;
    /** Time of opening, in milliseconds since the epoch. */
    readonly openedAt: number;
    /** True if the session carries single requests, which need no `initialize`. */
    readonly isSessionless: boolean;
    /** Unique id of the session. */
    readonly key: string;
    /** Sends to the client outside any request. Must not throw, and must bound its buffer. */
    readonly send: (bytes: Buffer) => void;
    /** True if the client is connected. A client without a permanent connection may leave without notice. */
    readonly isConnected: () => boolean;
    protocolVersion: string | undefined;
    /** The client's data from `initialize`. */
    client: ClientOfSession | undefined;
    logLevel: LogLevel | undefined;
    /** The log level in the newest request of a client without a session; undefined if there was no request. */
    requestLevel: LogLevel | 'none' | undefined;
    /** Requests in flight, by the client's id as JSON text. */
    readonly inFlight: KeyedSlotMap<Cancellation>;
    /** Called when the client gets a request, and when that request ends. */
    readonly clientRequestsChanged: () => void;
    /** Open requests to the client, by the hub's id as JSON text. */
    readonly clientRequests: Map<string, OpenRequest>;
  };
