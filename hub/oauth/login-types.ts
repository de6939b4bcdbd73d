import type { Clock, HubError, Log } from '#core';

/** The section `oauth` of a server's config entry. */
export type OAuthSettings = {
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** URL of a client ID metadata document. It is the client id if the authorization server supports such documents. */
  readonly clientMetadataUrl?: string;
  /** Scopes that every login requests. */
  readonly scopes?: readonly string[];
};

/** A remote server that may require a login. */
export type LoginTarget = {
  readonly name: string;
  readonly url: string;
  readonly settings: OAuthSettings;
};

/** Members of a server's WWW-Authenticate header (RFC 6750, RFC 9728). */
export type Challenge = {
  readonly resourceMetadataUrl?: string | undefined;
  readonly scope?: string | undefined;
};

/** Access tokens for one server. */
export interface AccessTokens {
  /**
   * Resolves with the current access token; undefined without a login. Refreshes it before it expires, once for all
   * callers. Rejects with HUB_LOGIN_REQUIRED, or HUB_REMOTE_UNREACHABLE if the authorization server does not respond.
   */
  current(): Promise<string | undefined>;
  /** Gets a new token after the server refused one with 401. Rejects like `current`, also if it cannot refresh. */
  renew(refused: string | undefined, challenge: Challenge): Promise<string>;
  /** Returns the error for a server that refuses even a fresh token with 401. */
  refused(challenge: Challenge): HubError;
  /** Returns the error for a request that needs more scopes, which the next login requests. */
  missingScope(challenge: Challenge): HubError;
}

/** State of a login for people. Contains no token. */
export type LoginStatus = {
  readonly state: 'logged_in' | 'none';
  /** True while a login waits for the browser. */
  readonly isPending: boolean;
  readonly issuer?: string;
  readonly scope?: string;
  /** When the access token expires, in milliseconds since the epoch. Absent if the authorization server did not say. */
  readonly expiresAt?: number;
  /** True if the token can be refreshed without a person. */
  readonly isRefreshable?: boolean;
  /** Scopes that a request lacked. The next login requests them. */
  readonly missingScope?: string;
};

export type LoginNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  /** Returns a remote server; undefined if no such server is in the config. */
  readonly targetOf: (server: string) => LoginTarget | undefined;
  /** Base URL of the hub for browsers on this machine, used in redirects. Undefined if the hub does not listen. */
  readonly hubUrl: () => string | undefined;
  /** Storage for secrets. */
  readonly store: {
    read(name: string): Promise<string | undefined>;
    write(name: string, value: string): Promise<void>;
    remove(name: string): Promise<unknown>;
    /** Redacts these values in logs and pages from now on, and still those of the previous call for this server. */
    redact(server: string, values: readonly string[]): void;
  };
  readonly audit: (change: {
    readonly action: string;
    readonly server: string;
    readonly outcome: string;
  }) => void;
};
