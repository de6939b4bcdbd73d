import type { ServerConfig } from '#config';
import type { Clock, Event, HubError, Log } from '#core';
import type { Era } from '#mcp';
import type { SharedBreaker } from '#resilience';
import type { Instance, LaunchEvents } from '#runtimes';
import type { Asked, Told, Upstream } from '#upstream';
import type { ClientOfSession } from './instances/client-of-session.ts';
import type { Continuity } from './adoption/adoption.ts';
import type { Eras } from './handshake/eras.ts';
import type { AwayCode } from './failures.ts';
import type { Gate } from './admission.ts';
import type { Introduction } from './handshake/handshake.ts';
import type { KeptListings } from './listing/kept-listing.ts';
import type { Health } from './lifecycle/health.ts';
import type { CacheScope, ListKind, Listing } from './listing/listing.ts';
import type { Misfit } from './listing/misfits.ts';

/** Where a server stands (spec 1.11). Every view of it, health included, derives from this. */
export type ServerStatus =
  | { readonly state: 'stopped'; readonly byHand: boolean }
  | { readonly state: 'starting'; readonly since: number; readonly progress: string }
  | { readonly state: 'running'; readonly since: number }
  | {
      readonly state: 'backing_off';
      /** When it is started again, in milliseconds since the epoch: what people read. */
      readonly until: number;
      /** The same on the monotonic clock, by which waits are measured. */
      readonly due: number;
      readonly why: string;
    }
  | {
      readonly state: 'stopping';
      readonly since: number;
      /** It ended by itself, and what is left of it is removed. */
      readonly hasEnded: boolean;
    }
  | { readonly state: 'failed'; readonly since: number; readonly why: string }
  | {
      readonly state: 'unreachable';
      readonly since: number;
      /** As for `backing_off`. */
      readonly until: number;
      readonly due: number;
      /** What is away. */
      readonly code: AwayCode;
      readonly why: string;
    };

/** A server that answers: its session and what it said of itself. */
export type Running = {
  readonly instance: Instance;
  readonly upstream: Upstream;
  readonly introduction: Introduction;
  /** It answers each request in the era of the request: calls pass without a bridge. */
  readonly speaksBothEras?: boolean;
};

/** What clients want to hear of from a server of the stateless revision. */
export type Interest = {
  /** URIs of resources, as the server knows them. */
  readonly resources: readonly string[];
  /** Ids of tasks, as the server knows them. */
  readonly tasks: readonly string[];
};

/** One configured server, kept as its config wants it. */
export interface Server {
  readonly config: ServerConfig;
  readonly status: ServerStatus;
  readonly changed: Event<ServerStatus>;
  /**
   * Fires with the list that differs from what it was, or of which the server says that it changed; after a
   * restart for every list that differs.
   */
  readonly listed: Event<ListKind>;
  /** Notifications that are about no request in flight, except those on lists. */
  readonly notified: Event<Told>;
  /** Requests of the server to a client. Each must be answered, once, by the only listener. */
  readonly asked: Event<Asked>;
  /** What it offers; what it last offered while it is not running. */
  readonly listing: Listing;
  readonly running: Running | undefined;
  /** Undefined while it does not run. */
  readonly health: Health | undefined;
  readonly restarts: number;
  /** Lets calls through to it, or not. */
  readonly gate: Gate;
  /** How many instances sessions have of it for themselves. */
  readonly instances: number;
  /** What the operator should change in the server's entry, as sentences. */
  readonly advice: readonly string[];
  /** `stderr` is what it had written by then, shortened. */
  readonly lastError:
    { readonly at: number; readonly message: string; readonly stderr: string } | undefined;
  /**
   * Why the entry that the config has for it now is not in force, and since when; undefined where it is. The
   * one in `config` goes on, until the other is tried again.
   */
  readonly refusedEntry: { readonly at: number; readonly error: HubError } | undefined;
  /** The end of what it wrote to stderr. */
  stderr(): string;
  /** Fires with each line that it writes to stderr, as it is: what must not be shown may stand in it. */
  readonly wrote: Event<string>;
  /** Adds to the advice and logs it, unless it was given before. */
  advise(text: string): void;
  /**
   * Says all that clients want to hear of, in place of what was said before. Without effect on a server
   * that keeps a session: its clients subscribe.
   */
  watch(interest: Interest): void;
  /**
   * Until when the list may be given as it is, in milliseconds on the monotonic clock. 0 for a server that
   * keeps a session, which says nothing about it.
   */
  freshUntil(kind: ListKind): number;
  scope(kind: ListKind): CacheScope;
  /** What of its listing is left out of the lists of all servers, for clients whose revision refuses it. */
  misfits(): readonly Misfit[];
  /** Shows what it offered when it last ran, until it runs again. */
  recall(): Promise<void>;
  /** Reads a list again. Never rejects: a list that cannot be read stays as it is. */
  refresh(kind: ListKind): Promise<void>;
  /** Begins to run, unless it does. Resolves at once: `running` or `failed` is told by `changed`. */
  start(): void;
  /** Ends it and resolves when nothing of it is left. `byHand`: calls do not start it again. */
  stop(byHand: boolean): Promise<void>;
  /**
   * Has another config in force from now on. `isReplaced`: what runs was launched otherwise; the new one is
   * started, takes its place, and the old one ends when it has answered what it was asked. Rejects
   * with HubError where the new one does not come up: the old one then stays as it was.
   */
  reconfigure(config: ServerConfig, isReplaced: boolean): Promise<void>;
  /**
   * Ends it for good: whoever asks for it from here on is refused with HUB_SHUTTING_DOWN, or with
   * HUB_SERVER_UNKNOWN where it was `removed` from the config.
   */
  close(why: 'stopping' | 'removed'): Promise<void>;
  /** Why nobody can use it any more, once it is closed. */
  readonly closed: HubError | undefined;
  /** Resolves when it answers, starting it when needed. Rejects with HubError when it cannot. */
  ready(): Promise<Running>;
}

export type ServerNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly hubVersion: string;
  /** Takes out of what a server says whatever must not be shown. Absent: nothing must not. */
  readonly redact?: (text: string) => string;
  readonly eras: Eras;
  /** The breaker of a server that all clients share; absent where there is none. */
  readonly breakerOf?: (config: ServerConfig) => SharedBreaker;
  /** Absent where no server outlives the hub. */
  readonly continuity?: Continuity;
  /** Whether two instances must not run at once, as what they write to is the same. Throws HubError. */
  readonly isExclusive?: (config: ServerConfig) => boolean;
  /** That of what the config launches, by which its listing is kept. Throws HubError. */
  readonly digestOf?: (config: ServerConfig) => string;
  /**
   * By what the program is known that the config would launch now; undefined where nothing tells. Rejects with
   * HubError where the engine cannot be asked.
   */
  readonly identityOf?: (config: ServerConfig) => Promise<string | undefined>;
  /** What servers offered when they last ran. */
  readonly keptListings?: KeptListings;
  /** The instances that sessions have for themselves, and what clients want to hear. */
  readonly instances: {
    count(server: Server): number;
    isHeard(server: Server): boolean;
  };
  /**
   * Launches an instance as the config says, on the runtime that the app chose. `instance` tells it from
   * the one that all clients share.
   */
  readonly launch: (
    config: ServerConfig,
    events: LaunchEvents,
    signal: AbortSignal,
    instance?: string,
  ) => Promise<Instance>;
};

/** What makes a server an instance of another: one that a session has for itself, or that clients of one era share. */
export type Own = {
  /** Tells it from the other instances of `base`, in names and in the log. */
  readonly instance: string;
  readonly base: Server;
  readonly client: ClientOfSession | undefined;
  /** The era of the clients that it works for: it is spoken to in that one, where it speaks both and "era" is "auto". */
  readonly era: Era;
  /** It works for several clients, which share the limits and the breaker of `base` with all others. */
  readonly isShared: boolean;
};
