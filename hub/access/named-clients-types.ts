import type { Config } from '#config';
import type { Clock, Log } from '#core';
import type { Principal } from '#policy';

/** A client by name, as shown to people. Times are in milliseconds since the epoch. */
export type NamedClient = {
  readonly name: string;
  readonly administer: boolean;
  /** Where its token comes from; undefined if it has none. */
  readonly source: 'config' | 'made' | undefined;
  /** Undefined for a token of the config. */
  readonly createdAt: number | undefined;
  /** When its token ends; absent for a token that does not come from a login (`authorization/`). */
  readonly expiresAt?: number;
  /** The last time it was admitted or called in this run of the hub. */
  readonly seenAt: number | undefined;
  readonly calls: number;
  /** Calls that the policy or its limits refused. */
  readonly refused: number;
};

export type CreatedToken = {
  readonly name: string;
  /** Undefined if the caller made it. */
  readonly token: string | undefined;
  readonly createdAt: number;
  /** True if it replaces a token that worked until now. */
  readonly replaced: boolean;
};

/** What a principal opened must end: its token is not valid any more, or calls without a token are not open any more. */
export type EndedClient = { readonly principal: Principal; readonly reason: string };

export type NamedClientsOptions = {
  /** File of the tokens. */
  readonly file: string;
  /** `off`: no client administers. */
  readonly administration: 'on' | 'off';
};

export type NamedClientsNeeds = {
  /** The active config. */
  readonly config: () => Pick<Config, 'clients' | 'tokens'>;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly log: Log;
};

/** A client and its use. */
export type Entry = Omit<NamedClient, 'seenAt' | 'calls' | 'refused'> & {
  readonly digest: string | undefined;
  readonly principal: Principal;
  readonly usage: Usage;
};

type Usage = {
  /** 0: never. Always a number: V8 allocates memory for each change of a property that may also be undefined. */
  seenAt: number;
  calls: number;
  refused: number;
};
