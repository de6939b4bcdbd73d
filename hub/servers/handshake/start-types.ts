import type { Log } from '#core';
import type { Instance, LaunchEvents } from '#runtimes';
import type { ServerRequest, LimitedLog, ServerNotification, Upstream } from '#upstream';
import type { ListKind, Reading } from '../listing/listing.ts';
import type { Rereads, RereadsNeeds } from '../listing/reread.ts';
import type { Subscription } from '../listing/subscription.ts';
import type { Interest, Own, Running, ServerNeeds } from '../server-types.ts';

/** An open session with a server, whose lists have been read. */
export type OpenSession = {
  readonly running: Running;
  readonly lists: Readonly<Record<ListKind, Reading>>;
  readonly rereads: Rereads;
  /** Set for servers of the stateless revision only. */
  readonly subscription: Subscription | undefined;
};

/** A server that has started. */
export type Started = OpenSession & {
  /** Tells its instance from the one it replaced. */
  readonly variant: string | undefined;
  /** It was adopted from an earlier run of the hub, which saved its handle. */
  readonly isAdopted: boolean;
};

export type StartNeeds = {
  readonly hub: Pick<
    ServerNeeds,
    'clock' | 'random' | 'hubVersion' | 'eras' | 'launch' | 'continuity'
  >;
  readonly log: Log;
  /** Log for output whose rate the server decides. */
  readonly output: LimitedLog;
  readonly events: LaunchEvents;
  readonly own: Own | undefined;
  /** Tells the instance from the one it replaces; undefined for the first, and every second after. */
  readonly variant: string | undefined;
  readonly client: ClientSide;
  readonly lists: Pick<RereadsNeeds, 'replace' | 'announce'> & {
    readonly isCurrent: (upstream: Upstream) => boolean;
  };
  /** Called before an instance is launched. */
  readonly launching: () => void;
  /** Called when there is a channel to an instance. */
  readonly opened: (instance: Instance, upstream: Upstream) => void;
};

/** What the clients of a server want and receive. */
export type ClientSide = {
  readonly interest: () => Interest;
  /** Maximum rate of unsolicited messages, per second. */
  readonly maxNotifications: () => number;
  readonly notified: (notification: ServerNotification) => void;
  readonly serverRequest: (serverRequest: ServerRequest) => void;
};
