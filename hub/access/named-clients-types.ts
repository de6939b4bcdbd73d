import type { Config } from '#config';
import type { Clock, Log } from '#core';
import type { Principal } from '#policy';

/** A named client for lists that people read. Times are in milliseconds since the epoch. */
export type NamedClient = {
  readonly name: string;
  readonly administer: boolean;
  /** Origin of its token; undefined if the client has no token. */
  readonly source: 'config' | 'made' | undefined;
  /** When the token was created; undefined for a token of the config. */
  readonly createdAt: number | undefined;
  /** When the token expires; absent if the token does not come from a login (`authorization/`). */
  readonly expiresAt?: number;
  /** Time of the client's last request in this run of the hub; undefined if it made none. */
  readonly seenAt: number | undefined;
  readonly calls: number;
  /** Number of calls that the policy, a person or a limit refused. */
  readonly refused: number;
};

export type CreatedToken = {
  readonly name: string;
  /** The new token; undefined if the caller created it and passed its digest. */
  readonly token: string | undefined;
  readonly createdAt: number;
  /** True if the new token replaces a valid one. */
  readonly replaced: boolean;
};

/** A principal whose sessions must end: its token was revoked, or calls without a token are no longer allowed. */
export type EndedClient = { readonly principal: Principal; readonly reason: string };

export type NamedClientsOptions = {
  /** Path of the file that stores the tokens. */
  readonly file: string;
  /** `off`: no client may administer the hub. */
  readonly administration: 'on' | 'off';
};

export type NamedClientsNeeds = {
  /** Returns the active config. */
  readonly config: () => Pick<Config, 'clients' | 'tokens'>;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly log: Log;
};

/** A named client with its token, principal and usage. */
export type Entry = Omit<NamedClient, 'seenAt' | 'calls' | 'refused'> & {
  readonly digest: string | undefined;
  readonly principal: Principal;
  readonly usage: Usage;
};

type Usage = {
  /** Time of the last request, in ms since the epoch; 0 if none. Not undefined: V8 would allocate for each change. */
  seenAt: number;
  calls: number;
  refused: number;
};
