import type { Clock, Event, HubError, Log } from '#core';

/** `oauth` of a server's entry. */
export type OAuthSettings = {
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** URL of a client ID metadata document, which is the client id where the authorization server supports them. */
  readonly clientMetadataUrl?: string;
  /** Scopes that are always requested. */
  readonly scopes?: readonly string[];
};

/** A remote server that may want a login. */
export type LoginTarget = {
  readonly name: string;
  readonly url: string;
  readonly settings: OAuthSettings;
};

/** What a server said when it refused a request (RFC 6750, RFC 9728). */
export type Challenge = {
  readonly resourceMetadataUrl?: string | undefined;
  readonly scope?: string | undefined;
};

/** The access tokens for one server. */
export interface AccessTokens {
  /**
   * The token to send; undefined without a login. Refreshes it before it expires, once for all callers. Rejects with
   * HUB_LOGIN_REQUIRED, or HUB_REMOTE_UNREACHABLE if the authorization server does not answer.
   */
  current(): Promise<string | undefined>;
  /** Another token after the server refused one with 401. Rejects as `current`, also without a refresh token. */
  renew(refused: string | undefined, challenge: Challenge): Promise<string>;
  /** The error for a server that refuses also a fresh token with 401. */
  refused(challenge: Challenge): HubError;
  /** The error for a request that needs more scopes. The next login asks for them. */
  missingScope(challenge: Challenge): HubError;
}

/** A login as people see it. It contains no token. */
export type LoginStatus = {
  readonly state: 'logged_in' | 'none';
  /** A login waits for its browser. */
  readonly isPending: boolean;
  readonly issuer?: string;
  readonly scope?: string;
  /** Milliseconds since the epoch. Absent: the authorization server did not say. */
  readonly expiresAt?: number;
  /** The token is renewed without a person. */
  readonly isRefreshable?: boolean;
  /** Scopes that a request lacked; a login asks for them. */
  readonly missingScope?: string;
};

/** A login that waits for its browser. */
type BegunLogin = {
  /** Address of the authorization server for the browser of the user. */
  readonly url: string;
  readonly expiresInMs: number;
};

/** The logins to remote servers (MCP 2026-07-28, authorization). */
export interface ServerLogins {
  tokensOf(server: string): AccessTokens;
  /** Fires with the name of a server after a login to it. */
  readonly loggedIn: Event<string>;
  /** Fires with the name of a server when its status changes. */
  readonly changed: Event<string>;
  /** Finds the authorization server, and registers the hub there. Rejects with HUB_LOGIN_FAILED, and with HUB_REQUEST_INVALID for a server without a URL. */
  begin(server: string): Promise<BegunLogin>;
  /** Resolves when the login to a server that was begun last is done. Rejects with HUB_LOGIN_FAILED, and when `signal` aborts. */
  done(server: string, signal: AbortSignal): Promise<void>;
  /** Finishes a login with the query of the redirect. Resolves with the server. Rejects with HUB_LOGIN_FAILED. */
  finish(answer: URLSearchParams): Promise<string>;
  /** Revokes the tokens and forgets them, and ends logins under way. `isRevoked`: false if the authorization server could not be told. Rejects with HUB_REQUEST_INVALID for a server without a URL. */
  logout(server: string): Promise<{ readonly wasLoggedIn: boolean; readonly isRevoked: boolean }>;
  status(server: string): Promise<LoginStatus>;
}

export type LoginNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  /** Undefined if there is no such remote server. */
  readonly targetOf: (server: string) => LoginTarget | undefined;
  /** Address of the hub for browsers of this machine, as redirects name it. Undefined if the hub does not listen. */
  readonly hubUrl: () => string | undefined;
  /** Where secrets live. */
  readonly store: {
    read(name: string): Promise<string | undefined>;
    write(name: string, value: string): Promise<void>;
    remove(name: string): Promise<void>;
    /** Removes these values from logs and pages from now on, and those given for this server the time before. */
    redact(server: string, values: readonly string[]): void;
  };
  readonly audit: (change: {
    readonly action: string;
    readonly server: string;
    readonly outcome: string;
  }) => void;
};
