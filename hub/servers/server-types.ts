import type { ServerConfig } from '#config';
import type { Clock, Event, HubError, Log } from '#core';
import type { Logs } from '#logs';
import type { Era } from '#mcp';
import type { SharedBreaker } from '#resilience';
import type { EgressReport, Instance, LaunchEvents } from '#runtimes';
import type { ServerRequest, ServerNotification, Upstream } from '#upstream';
import type { Adoption } from './adoption/adoption.ts';
import type { Eras } from './handshake/eras.ts';
import type { AwayCode } from './failures.ts';
import type { ServerAdmission } from './admission.ts';
import type { ClientOfSession, ServerInfo } from './handshake/handshake.ts';
import type { DefinitionGuard } from './listing/holds.ts';
import type { KeptListings } from './listing/kept-listing.ts';
import type { Health } from './lifecycle/health.ts';
import type { CacheScope, ListKind, Listing } from './listing/listing.ts';
import type { Misfit } from './listing/listing-cache.ts';

/** The status of a server (spec 1.11), from which all views of the server are derived. */
export type ServerStatus = Readonly<
  | { state: 'stopped'; byHand: boolean }
  | { state: 'starting'; since: number; progress: string }
  | { state: 'running'; since: number }
  /** Restarts at `until`, in milliseconds since the epoch; `due` is the same on the monotonic clock. */
  | { state: 'backing_off'; until: number; due: number; why: string }
  /**
   * `hasEnded`: the server ended by itself or was idle, and calls may wait for the next instance. `byHand`: calls do not
   * start it again.
   */
  | { state: 'stopping'; since: number; hasEnded: boolean; byHand?: true }
  | { state: 'failed'; since: number; why: string }
  /** A remote server that a person must log in to. */
  | { state: 'needs_login'; since: number; why: string }
  /** Restarts at `until`, as in `backing_off`. */
  | {
      state: 'unreachable';
      since: number;
      until: number;
      due: number;
      code: AwayCode;
      why: string;
    }
>;

/** A server that is ready: its instance and its session. */
export type Running = {
  readonly instance: Instance;
  readonly upstream: Upstream;
  readonly serverInfo: ServerInfo;
  /** True if the server answers each request in the era of the request: calls are relayed without translation. */
  readonly speaksBothEras?: boolean;
};

/** Resources and tasks that clients listen to on a server of the stateless revision. */
export type Interest = {
  /** URIs of resources, as the server writes them. */
  readonly resources: readonly string[];
  /** Ids of tasks, as the server writes them. */
  readonly tasks: readonly string[];
};

export interface Server {
  readonly config: ServerConfig;
  /** True if the server runs in the hub's own process: it cannot be started, stopped or removed. */
  readonly isBuiltin?: boolean;
  readonly status: ServerStatus;
  readonly changed: Event<ServerStatus>;
  /** Fires for each list that has changed, or for which the server sent `list_changed`. */
  readonly listed: Event<ListKind>;
  /** Notifications that belong to no pending request, except `list_changed`. */
  readonly notified: Event<ServerNotification>;
  /** Requests of the server to a client. There is one listener, which must answer each request once. */
  readonly serverRequest: Event<ServerRequest>;
  readonly listing: Listing;
  readonly running: Running | undefined;
  readonly health: Health | undefined;
  readonly restarts: number;
  readonly admission: ServerAdmission;
  readonly instances: number;
  /**
   * Hosts that the server has reached through the forwarder, and hosts that were refused. Undefined if it has tried
   * none.
   */
  readonly egress?: EgressReport | undefined;
  /** Advice to the operator on the entry of the server, as sentences. */
  readonly advice: readonly string[];
  readonly lastError:
    | {
        readonly at: number;
        readonly message: string;
        /** The last line of the server's output that reports an error; undefined if none does. */
        readonly line: string | undefined;
        /** The end of the server's stderr at that time. */
        readonly stderr: string;
      }
    | undefined;
  /**
   * Why the current entry is not applied, and since when; undefined if it is applied. If not, `config` is the old
   * entry.
   */
  readonly refusedEntry: { readonly at: number; readonly error: HubError } | undefined;
  /** Returns the end of the server's stderr. */
  stderr(): string;
  /** Fires with each line of the server's stderr, unredacted. */
  readonly wrote: Event<string>;
  /** Adds advice and logs it, unless it was given before. */
  advise(text: string): void;
  /**
   * Sets all resources and tasks that clients listen to. No effect on a server with sessions: its clients subscribe.
   */
  watch(interest: Interest): void;
  /** Time when the cached list expires, on the monotonic clock in milliseconds; 0 if the server set no TTL. */
  freshUntil(kind: ListKind): number;
  scope(kind: ListKind): CacheScope;
  /** Items that the lists on `/mcp` leave out for clients whose revision refuses them. */
  misfits(): readonly Misfit[];
  /** Keys (`heldKey`) of items whose definitions are not accepted. Undefined if there are none, as usual. */
  readonly held?: ReadonlySet<string> | undefined;
  /** True if items may be held, so that the hub filters the lists that it relays from the server. */
  readonly mayHold?: boolean;
  /** True if an item in a relayed list is held. `name` is the server's own name for it. */
  holds?(kind: 'tool' | 'prompt', name: string, bytes: Buffer): boolean;
  /** Restores the listing of the last run, for the time until the server runs again. */
  recall(): Promise<void>;
  /** Reads a list again. Never rejects: a list that cannot be read stays unchanged. */
  refresh(kind: ListKind): Promise<void>;
  /** Starts the server unless it is active. Returns at once; `changed` reports the result. */
  start(): void;
  /** Stops the server and resolves when it has ended. `byHand`: calls do not start it again. */
  stop(byHand: boolean): Promise<void>;
  /**
   * Applies another config. `isReplaced`: the launch differs, so that a new instance replaces the running one, which
   * ends once its calls are answered. Rejects with HubError if the new instance does not start; then the old config
   * stays applied.
   */
  reconfigure(config: ServerConfig, isReplaced: boolean): Promise<void>;
  /** Ends the server for good. Calls are refused with HUB_SHUTTING_DOWN, or HUB_SERVER_UNKNOWN if it was `removed`. */
  close(why: 'stopping' | 'removed'): Promise<void>;
  /** The error for calls once the server is closed. */
  readonly closed: HubError | undefined;
  /** Resolves when the server is ready, and starts it if necessary. Rejects with HubError if it cannot run. */
  ready(): Promise<Running>;
}

export type ServerNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly hubVersion: string;
  /** Removes secrets from a server's output. */
  readonly redact?: (text: string) => string;
  readonly eras: Eras;
  readonly breakerOf?: (config: ServerConfig) => SharedBreaker;
  /** Absent if no state of servers outlives the hub. */
  readonly launches?: Launches;
  /** Counts the instances of sessions, and returns whether clients listen to a server. */
  readonly instances: {
    count(server: Server): number;
    isHeard(server: Server): boolean;
  };
  /** Launches an instance in the runtime that the app chose. `instance` distinguishes it from the shared instance. */
  readonly launch: (
    config: ServerConfig,
    events: LaunchEvents,
    signal: AbortSignal,
    instance?: string,
  ) => Promise<Instance>;
};

/** Functions that depend on what a config launches, and the state that earlier runs of the hub have saved. */
export type Launches = {
  /** Id of this hub, which marks its own items in the lists of other hubs. Absent: they are not recognized. */
  readonly hubId?: string;
  readonly adoption?: Adoption;
  /**
   * Returns true if two instances must not run at the same time, as they would write to the same place. Throws
   * HubError.
   */
  readonly isExclusive?: (config: ServerConfig) => boolean;
  /** Prepares a launch, for example its image, while another instance still runs. Rejects with HubError. */
  readonly prepare?: (config: ServerConfig, signal: AbortSignal) => Promise<void>;
  /** Returns the digest of what the config launches, for its saved listing. Throws HubError. */
  readonly digestOf?: (config: ServerConfig) => string;
  /**
   * Returns the identity of the program that would be launched now, if known. Rejects with HubError if the engine is
   * unreachable.
   */
  readonly identityOf?: (config: ServerConfig) => Promise<string | undefined>;
  readonly keptListings?: KeptListings;
  /** Stores the output of servers by runs. Absent: only the newest lines are kept, in memory. */
  readonly logs?: Pick<Logs, 'server' | 'forget'>;
  /** Definitions that were accepted. Absent: definitions are not compared. */
  readonly definitions?: DefinitionGuard;
  readonly egress?: {
    report(server: string): EgressReport | undefined;
    /** Applies a changed config to running instances. Never rejects. */
    apply(config: ServerConfig): Promise<void>;
  };
};

/** Makes a server an instance of another server, for one session or for the clients of one era. */
export type Own = {
  readonly instance: string;
  readonly base: Server;
  readonly client: ClientOfSession | undefined;
  /** The era of the instance's clients. It is used with a server that speaks both if its "era" is "auto". */
  readonly era: Era;
  /** True if several clients share the instance, with the limits and the breaker of `base`. */
  readonly isShared: boolean;
};
