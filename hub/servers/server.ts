import type { ServerConfig } from '#config';
import type { Clock, Event, Log } from '#core';
import type { Notification } from '#rpc';
import type { Instance, LaunchEvents } from '#runtimes';
import type { AwayCode } from './failures.ts';
import type { Introduction } from './handshake.ts';
import type { ListKind, Listing } from './listing.ts';
import type { Upstream } from './upstream.ts';

/** Where a server stands (spec 1.11). Every view of it, health included, derives from this. */
export type ServerStatus =
  | { readonly state: 'stopped'; readonly byHand: boolean }
  | { readonly state: 'starting'; readonly since: number; readonly progress: string }
  | { readonly state: 'running'; readonly since: number }
  | { readonly state: 'backing_off'; readonly until: number; readonly why: string }
  | { readonly state: 'stopping'; readonly since: number }
  | { readonly state: 'failed'; readonly since: number; readonly why: string }
  | {
      readonly state: 'unreachable';
      readonly since: number;
      readonly until: number;
      /** What is away. */
      readonly code: AwayCode;
      readonly why: string;
    };

/** A server that answers: its session and what it said of itself. */
export type Running = {
  readonly instance: Instance;
  readonly upstream: Upstream;
  readonly introduction: Introduction;
};

/** One configured server, kept as its config wants it. */
export interface Server {
  readonly config: ServerConfig;
  readonly status: ServerStatus;
  readonly changed: Event<ServerStatus>;
  /** Fires with the list that differs from what it was; after a restart for every list that differs. */
  readonly listed: Event<ListKind>;
  /** Notifications that are about no request in flight, except those on lists. */
  readonly notified: Event<Notification>;
  /** What it offers; what it last offered while it is not running. */
  readonly listing: Listing;
  readonly running: Running | undefined;
  readonly restarts: number;
  /** `stderr` is what it had written by then, shortened. */
  readonly lastError:
    { readonly at: number; readonly message: string; readonly stderr: string } | undefined;
  /** The end of what it wrote to stderr. */
  stderr(): string;
  /** Begins to run, unless it does. Resolves at once: `running` or `failed` is told by `changed`. */
  start(): void;
  /** Ends it and resolves when nothing of it is left. `byHand`: calls do not start it again. */
  stop(byHand: boolean): Promise<void>;
  /** Ends it for good: whoever asks for it from here on is refused with HUB_SHUTTING_DOWN. */
  close(): Promise<void>;
  /** Resolves when it answers, starting it when needed. Rejects with HubError when it cannot. */
  ready(): Promise<Running>;
}

export type ServerNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly hubVersion: string;
  /** Launches an instance as the config says, on the runtime that the app chose. */
  readonly launch: (
    config: ServerConfig,
    events: LaunchEvents,
    signal: AbortSignal,
  ) => Promise<Instance>;
};
