import { type KeyedSlotMap, HubError, createKeyedSlotMap, isObject } from '#core';
import { type Message, type ReplyBytes, type Request, type Span, rawText, valueOf } from '#jsonrpc';
import { type LogLevel, isLogLevel, logLevels } from '#mcp';
import type { Principal } from '#policy';
import type { ClientOfSession, Server } from '#servers';
import type { ForwardedRequest, Owner, Relayed, ResponseStream } from '#upstream';
import type { Offering } from './lists.ts';

/** Endpoint of a client: all servers with public names, or one server with its own names. */
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
  /** `publicUri`: the client's URI of the resource. */
  readonly subscriptions: readonly {
    readonly server: string;
    readonly uri: string;
    readonly publicUri: string;
  }[];
};

/** Returns `clientInfo` and `capabilities` from the params of `initialize`. */
export function clientIn(
  { bytes }: Pick<Request, 'bytes'>,
  params: ReadonlyMap<string, Span> | undefined,
): ClientOfSession {
  const text = (name: string): string => {
    const span = params?.get(name);
    return span && bytes[span.start] === 0x7b ? rawText(bytes, span) : '{}';
  };
  return { capabilities: text('capabilities'), clientInfo: text('clientInfo') };
}

/** Data to resume a session of an earlier run of the hub. */
export type EarlierSession = {
  readonly client: ClientOfSession;
  readonly protocolVersion: string;
  /** Time of opening, in milliseconds since the epoch. */
  readonly openedAt: number;
  readonly settings: SessionSettings;
};

/** One connected client. Transports use only this interface of the hub. */
export interface Session {
  /** The principal that opened the session. The transport refuses requests of any other principal. */
  readonly principal: Principal;
  /** The revision negotiated at `initialize`; undefined before `initialize`, and for stateless clients. */
  readonly protocolVersion: string | undefined;
  /**
   * Answers a request with the bytes of its JSON-RPC answer: exactly one, and never a rejection. Returns nothing for
   * other messages, and for a request of MCP 2026-07-28 that its client cancelled by a notification. Messages about the
   * request before its answer go to the response stream. `principal` is the sender, with its current grants.
   */
  accept(
    message: Message,
    responseStream: ResponseStream,
    principal: Principal,
  ): Promise<ReplyBytes | undefined>;
  /** Returns the data that the next run of the hub needs to resume the session; undefined if it cannot be resumed. */
  save(): SessionSettings | undefined;
  /** Cancels the requests in flight and removes the client. Safe to call twice. */
  close(reason: string): void;
}

/** Owner of separate server instances: a session, or a client without a session. */
export type InstanceHolder = {
  /** Instances that serve only this holder, by their server. */
  readonly instances: Map<Server, Server>;
  /** The holder's own offering on the endpoint of all servers, if its instances offer different items. */
  own: Offering | undefined;
};

/** State of a session in the router. */
export type SessionState = Owner &
  InstanceHolder & {
    readonly endpoint: Endpoint;
    readonly principal: Principal;
    readonly over: Over;
    /** The name that the client gave when it connected, for the rules about its prompts; undefined if it gave none. */
    readonly clientName: string | undefined;
    readonly openedAt: number;
    /** True if the session is for requests of a client without a session, which need no `initialize`. */
    readonly isSessionless: boolean;
    readonly key: string;
    /** Sends the client a message outside any request. Must not throw, and must limit its buffer. */
    readonly send: (bytes: Buffer) => void;
    /** True if the client is connected. A client without a permanent connection may disconnect without notice. */
    readonly isConnected: () => boolean;
    /** True once the client has disconnected. Its call continues if other clients wait for the result. */
    isOver: boolean;
    protocolVersion: string | undefined;
    client: ClientOfSession | undefined;
    logLevel: LogLevel | undefined;
    /** The log level that a client without a session requested (`noteLevel`); undefined before its first request. */
    requestLevel: LogLevel | 'none' | undefined;
    /** Requests in flight, by the client's id as JSON text. */
    readonly inFlight: KeyedSlotMap<Cancellation>;
    /** Called when a server's request is sent to the client, and when that request ends. */
    readonly clientRequestsChanged: () => void;
    /**
     * Open requests to the client, by the hub's id as JSON text. `giveUp` ends the request without an answer: it
     * cancels the request at the client if that is connected, and the server gets the reason.
     */
    readonly clientRequests: Map<string, { readonly giveUp: (reason: string) => void }>;
  };

export type SessionOptions = Pick<
  SessionState,
  'endpoint' | 'principal' | 'send' | 'isSessionless'
> &
  Partial<Pick<SessionState, 'isConnected' | 'openedAt' | 'clientRequestsChanged'>> & {
    readonly over?: Over | undefined;
    readonly clientName?: string | undefined;
  };

export function createSessionState(
  key: string,
  options: SessionOptions,
  clientRequests: {
    forward(request: ForwardedRequest, session: SessionState, responseStream: ResponseStream): void;
  },
): SessionState {
  const { over = 'http', clientName } = options;
  const state: SessionState = {
    openedAt: 0,
    clientRequestsChanged() {},
    isConnected: () => true,
    ...options,
    over,
    clientName,
    key,
    isOver: false,
    protocolVersion: undefined,
    client: undefined,
    logLevel: undefined,
    requestLevel: undefined,
    inFlight: createKeyedSlotMap(),
    instances: new Map(),
    own: undefined,
    clientRequests: new Map(),
    get hasOpenRequest() {
      return state.clientRequests.size > 0;
    },
    serverRequest: (request, responseStream) =>
      clientRequests.forward(request, state, responseStream),
    notification({ method, bytes, params }, responseStream, defaultLevel) {
      const level = state.requestLevel ?? state.logLevel ?? defaultLevel;
      if (method !== 'notifications/message') responseStream.send(bytes);
      else if (level !== 'none' && isWanted(level, valueOf(bytes, params)))
        responseStream.send(bytes);
    },
  };
  return state;
}

/**
 * Records the log level in a request of a client without a session. The most verbose level applies until no request is
 * in flight, because servers do not say which request a log message is about.
 */
export function noteLevel(state: SessionState, level: LogLevel | 'none'): void {
  const before = state.requestLevel ?? 'none';
  const isLower =
    level !== 'none' && (before === 'none' || logLevels.indexOf(level) < logLevels.indexOf(before));
  if (isLower || state.inFlight.size === 0) state.requestLevel = level;
}

/** True if a log message with these params has the wanted level or a higher one. */
export function isWanted(wanted: LogLevel | undefined, params: unknown): boolean {
  if (wanted === undefined || !isObject(params)) return true;
  const { level } = params;
  return !isLogLevel(level) || logLevels.indexOf(level) >= logLevels.indexOf(wanted);
}

/** The cancellation state of a request, and the work to cancel. Only this file writes to it. */
export type Cancellation = {
  work: Pick<Relayed<unknown>, 'cancel'> | undefined;
  isCancelled: boolean;
  /** True if the client itself sent `notifications/cancelled`. */
  isByClient: boolean;
};

export const createCancellation = (): Cancellation => ({
  work: undefined,
  isCancelled: false,
  isByClient: false,
});

/** Sets the work to cancel if the client cancels the request; undefined if nothing can be cancelled. */
export function setWork(cancellation: Cancellation, work: Cancellation['work']): void {
  cancellation.work = work;
}

/** Cancels the request, now or as soon as it is about to be sent. */
export function cancelCall(cancellation: Cancellation, reason: string | undefined): void {
  cancellation.isCancelled = true;
  cancellation.work?.cancel(reason);
}

/** Cancels the request on behalf of its client, which sent `notifications/cancelled`. */
export function cancelByClient(cancellation: Cancellation, reason: string | undefined): void {
  cancellation.isByClient = true;
  cancelCall(cancellation, reason);
}

type CancellableCall = {
  readonly cancellation: Cancellation;
  readonly request: Pick<Request, 'method'>;
};

/** Throws HUB_CALL_CANCELLED if the request was cancelled. Call this after each wait. */
export function throwIfCancelled(call: CancellableCall): void {
  if (call.cancellation.isCancelled)
    throw new HubError('HUB_CALL_CANCELLED', `the client cancelled ${call.request.method}`);
}

/** Runs work that is aborted if the client cancels the call. Throws HUB_CALL_CANCELLED then. */
export async function whileCancellable<T>(
  call: CancellableCall,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  throwIfCancelled(call);
  const ended = new AbortController();
  setWork(call.cancellation, { cancel: reason => ended.abort(reason) });
  try {
    return await work(ended.signal);
  } catch (error) {
    throwIfCancelled(call);
    throw error;
  } finally {
    setWork(call.cancellation, undefined);
  }
}
