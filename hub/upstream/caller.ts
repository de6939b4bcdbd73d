import type { HubError } from '#core';
import type { Answer, Edit, Notification, Request, Span } from '#jsonrpc';
import type { Principal } from '#policy';
import type { LogLevel } from '#mcp';

/** A client's request on its way to a server: the message and what must differ in it. */
export type Outbound<T> = {
  readonly request: Request;
  /** Replacements besides those of the id and the progress token, which are the upstream's own. */
  readonly edits: readonly Edit[];
  readonly progressToken: Span | undefined;
  /** Makes the reply of the answer, before the next message of the server is read. Must not throw. */
  readonly answered: (answer: Answer) => T;
  /** Makes the rejection of the failure of a request that was sent. */
  readonly failed: (error: HubError) => Error;
};

/**
 * Whose request a message of a server came in reply to: 'none' where that is one of the hub's own, 'gone'
 * where nobody waits for its answer any more.
 */
export type About = Caller | 'none' | 'gone';

/** A notification of a server. `about` is there where the way that it came by tells it. */
export type Told = Notification & { readonly about?: About };

/** A server's request to a client. It must be answered, once. */
export type Asked = {
  readonly request: Request;
  /** Undefined where the way that it came by does not tell. */
  readonly about: About | undefined;
  /** Takes the whole JSON-RPC answer, with the server's own id in it. */
  readonly answer: (bytes: Buffer) => void;
  /** Takes a notification that is about the request. */
  readonly tell: (bytes: Buffer) => void;
};

/** A request whose server is known: all of one server have the same source. */
export type Question = Asked & { readonly source: object };

/** Where messages about a request go while it is worked on. */
export interface Exchange {
  related(bytes: Buffer): void;
  /** The header of that name of the HTTP request that it came in, where it came in one of its own. */
  readonly traceparent?: string | undefined;
}

/** True where both are of one client. */
export const isSameClient = (one: Owner, other: Owner): boolean =>
  one === other || (one.identity !== undefined && one.identity === other.identity);

/** A client, as far as a server can have something for it: two callers with one owner are one client. */
export interface Owner {
  /** Two owners with one identity are one client. Absent: the owner is a client by itself. */
  readonly identity?: string;
  /** What the client said of itself when it opened its session, as JSON text. */
  readonly client?: { readonly clientInfo: string } | undefined;
  /** A request of the server that is about a call of this client. */
  asked(question: Question, exchange: Exchange): void;
  /**
   * A notification of the server that is about a call of this client, though it does not name it. A client
   * that asked for no level of log messages gets those from `unasked` on, or all where there is none.
   */
  told(notification: Told, exchange: Exchange, unasked?: LogLevel): void;
  /** While the client is asked something, its calls do not time out. */
  readonly isAsked: boolean;
}

/** Who asked. What the server sends about a request while it works on it goes to its caller. */
export type Caller = {
  readonly owner: Owner;
  /** Who sent the request, for servers of the hub's own. */
  readonly principal?: Principal;
  exchange: Exchange;
  /** By what the client knows the progress of its request, as JSON text. */
  progressToken: string | undefined;
};

/** A request in flight. */
export type Relayed<T> = {
  readonly answer: Promise<T>;
  /** Tells the server that nobody waits any more, and rejects the answer with HUB_CALL_CANCELLED. */
  cancel(reason: string | undefined): void;
};

/** A request that stays open: its answer says that it is over. */
export type Listening = {
  /** The id that the server knows it by. */
  readonly id: number;
  /** Rejects with HubError where the server is gone or the request was cancelled. */
  readonly over: Promise<Answer>;
  cancel(reason: string): void;
};
