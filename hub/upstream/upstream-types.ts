import type { HubError } from '#core';
import type { Answer, Edit, Notification, Request, Span } from '#jsonrpc';
import type { LogLevel } from '#mcp';
import type { Principal } from '#policy';

/** A client's request on its way to a server: the message and the edits to apply to it. */
export type Outbound<T> = {
  readonly request: Request;
  /** Edits besides those of the id and the progress token, which the upstream adds itself. */
  readonly edits: readonly Edit[];
  readonly progressToken: Span | undefined;
  /**
   * Converts the answer to the reply, before the server's next message is read. Must not throw. `id`: the id that the
   * server sees, which is also its progress token.
   */
  readonly answered: (answer: Answer, id: number) => T;
  /** Converts the failure of a sent request to the error that rejects its reply. */
  readonly failed: (error: HubError) => Error;
};

/** The caller of the request on whose response a message arrived; 'none' for the hub's own, 'gone' if it is over. */
export type About = Caller | 'none' | 'gone';

/**
 * The connection of a message from a server. While a config change replaces an instance, both instances of the server
 * have a connection, and each may use the same request ids.
 */
export type ServerConnection = Pick<
  Upstream,
  'callerOf' | 'ended' | 'notify' | 'onlyCaller' | 'onlyOwner'
>;

/** A server's notification. `about` is set if the channel tells which request it belongs to. */
export type ServerNotification = Notification & {
  readonly connection: ServerConnection;
  readonly about?: About;
  /** Counts the copies that the hub sends to clients towards the rate limit of the server. Absent: no limit. */
  readonly copied?: (copies: number) => void;
};

/** A server's request to a client. It must be answered exactly once. */
export type ServerRequest = {
  readonly request: Request;
  readonly connection: ServerConnection;
  /** Undefined if the channel does not tell which request it belongs to. */
  readonly about: About | undefined;
  /** Sends the whole JSON-RPC answer, which contains the server's own id. */
  readonly answer: (bytes: Buffer) => void;
  readonly tell: (bytes: Buffer) => void;
};

/** A request with the identity of its server. All requests of one server have the same `source`. */
export type ForwardedRequest = ServerRequest & {
  readonly source: object;
  /** Answers in place of a client that cannot. Never rejects. Absent: the hub may not answer it. */
  readonly answerByHub?: ((signal: AbortSignal) => Promise<void>) | undefined;
};

/** Receives the messages about a request while the request is pending. */
export interface ResponseStream {
  send(bytes: Buffer): void;
  /** The `traceparent` header of the HTTP request, if the request arrived in an HTTP request of its own. */
  readonly traceparent?: string | undefined;
}

/** A client that a server can address. Two callers with the same owner are the same client. */
export interface Owner {
  /** Owners with the same identity are the same client. If absent, the owner is a client by itself. */
  readonly identity?: string;
  /** The client's description of itself from when it opened its session, as JSON text. */
  readonly client?: { readonly clientInfo: string } | undefined;
  /** The name that the client gave beside MCP, for the rules about its prompts. */
  readonly clientName?: string | undefined;
  /** Handles a server's request about a call of this client. */
  serverRequest(request: ForwardedRequest, responseStream: ResponseStream): void;
  /**
   * Handles a server's notification about a call of this client that does not name the call. A client that set no log
   * level gets log messages of level `defaultLevel` and above, or all of them if `defaultLevel` is undefined.
   */
  notification(
    notification: Omit<ServerNotification, 'connection'>,
    responseStream: ResponseStream,
    defaultLevel?: LogLevel,
  ): void;
  /** True while the client has an open request to answer. Its calls do not time out meanwhile. */
  readonly hasOpenRequest: boolean;
}

/** The sender of a request. Messages that the server sends about a pending request go to its caller. */
export type Caller = {
  readonly owner: Owner;
  /** The principal that sent the request: for the hub's own servers, and for the turns at its models. */
  principal?: Principal;
  responseStream: ResponseStream;
  /** The client's progress token for the request, as JSON text. */
  progressToken: string | undefined;
};

export type Relayed<T> = {
  readonly answer: Promise<T>;
  /** Sends a cancellation to the server and rejects the answer with HUB_CALL_CANCELLED. */
  cancel(reason: string | undefined): void;
};

/** A request that stays open until the server ends it with an answer. */
type Listening = {
  /** The request id that the server sees. */
  readonly id: number;
  /** Resolves with the final answer. Rejects with HubError if the server is gone or the request was cancelled. */
  readonly over: Promise<Answer>;
  cancel(reason: string): void;
};

/** A JSON-RPC session with one server. Lives exactly as long as its channel. */
export interface Upstream {
  /** Relays a client's request that has already waited `waitedMs`. Throws HubError. */
  relay<T>(outbound: Outbound<T>, caller: Caller, timeoutMs: number, waitedMs?: number): Relayed<T>;
  /** Sends a request of the hub's own. Resolves with an answer whose payload is a result. Rejects with HubError. */
  request(method: string, params: object | undefined, timeoutMs: number): Promise<Answer>;
  /** Sends `subscriptions/listen` without a time limit. `cancel` ends it without an answer. Throws HubError. */
  listen(params: object): Listening;
  notify(method: string, params?: object): void;
  /** Forwards a client's notification unchanged. Throws HubError if the server cannot take it. */
  forward(notification: Notification): void;
  /** The caller of the newest pending call of clients, if all pending and abandoned calls belong to one client. */
  onlyCaller(): Caller | 'none' | 'several';
  /** The caller of a pending call, by the request id that the server sees. */
  callerOf(id: number): Caller | undefined;
  /** The owner of all calls so far, if there is only one. */
  onlyOwner(): Owner | 'none' | 'several';
  /** True if calls are pending, and none has timed out since the server's last message: it may be working silently. */
  isAtWork(): boolean;
  inFlight(): number;
  relayed(): number;
  /** Rejects all pending requests, and refuses requests of the server: it is gone, or being stopped. */
  fail(error: HubError): void;
  /** Aborts with the first error that is passed to `fail`. */
  readonly ended: AbortSignal;
}
