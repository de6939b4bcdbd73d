import { type Clock, type Log, HubError } from '#core';
import type { Principal } from '#policy';
import type { Router, View } from '#routing';
import type { ByteBudget } from './byte-budget.ts';
import { type Connection, type Wire, createConnection } from './connection.ts';
import { stopping } from './unavailable.ts';

/** The connections that are open: each is one client, whose session ends with it. */
export interface Connections {
  readonly size: number;
  /** Whether the hub is stopping, and takes no more of them. */
  readonly isDraining: boolean;
  /**
   * Opens a connection whose messages are all of one principal. Throws HUB_SESSIONS_FULL where as many are open as
   * may be, HUB_SHUTTING_DOWN where the hub stops.
   */
  open(view: View, principal: Principal, wire: Wire): Connection;
  /** Closes those of a view, which is there no more. */
  end(view: View, reason: string): void;
  /** Takes no more requests, waits at most `graceMs` for those in flight, then closes all. */
  drain(graceMs: number): Promise<void>;
}

export type ConnectionsOptions = {
  readonly maxConnections: number;
  /** A client that leaves more than this unread is dropped, in bytes. */
  readonly maxUnsentBytes?: number;
};

export type ConnectionsNeeds = {
  readonly router: Pick<Router, 'open'>;
  readonly clock: Clock;
  readonly log: Log;
  /** What all clients leave unread. Absent: it is not counted. */
  readonly unread?: ByteBudget;
};

const defaultMaxUnsentBytes = 64 * 1024 * 1024;
const maxInFlight = 10_000;
/** How often wires are kept alive, in milliseconds. */
const keepAliveMs = 15_000;
const lookMs = 20;

export function createConnections(
  options: ConnectionsOptions,
  needs: ConnectionsNeeds,
): Connections {
  const { router, clock, log } = needs;
  const maxUnsentBytes = options.maxUnsentBytes ?? defaultMaxUnsentBytes;
  const open = new Map<Connection, { readonly wire: Wire; readonly view: View }>();
  let draining = false;
  let ticking: Disposable | undefined;

  function tick(): void {
    ticking = undefined;
    for (const { wire } of Array.from(open.values())) wire.keepAlive();
    keepTicking();
  }

  /** The ticker runs while there is a wire to keep alive. */
  function keepTicking(): void {
    if (!ticking && open.size > 0) ticking = clock.after(keepAliveMs, tick);
  }

  function checkRoom(): void {
    if (draining) throw stopping();
    if (open.size >= options.maxConnections)
      throw new HubError('HUB_SESSIONS_FULL', `${open.size} connections are open already`, {
        data: { retryable: true },
      });
  }

  const isBusy = () => [...open.keys()].some(({ inFlight }) => inFlight > 0);

  return {
    get size() {
      return open.size;
    },
    get isDraining() {
      return draining;
    },
    open(view, principal, wire) {
      checkRoom();
      const connection = createConnection(
        wire,
        { maxUnsentBytes, maxInFlight },
        {
          open: outlet => router.open(view, principal, outlet, { over: wire.kind }),
          isDraining: () => draining,
          closed(reason) {
            open.delete(connection);
            log.debug({ reason }, 'a connection is over');
          },
          log,
          ...(needs.unread && { unread: needs.unread }),
        },
      );
      open.set(connection, { wire, view });
      keepTicking();
      return connection;
    },
    end(view, reason) {
      for (const [connection, one] of Array.from(open))
        if (one.view === view) connection.close(reason);
    },
    async drain(graceMs) {
      draining = true;
      // Requests to listen are ended in order before their connections are.
      await Promise.resolve();
      const until = clock.monotonic() + graceMs;
      while (isBusy() && clock.monotonic() < until)
        await new Promise<void>(resolve => clock.after(lookMs, resolve));
      for (const connection of Array.from(open.keys())) connection.close('the hub is stopping');
      // What they still say leaves with this turn.
      await new Promise<void>(resolve => setImmediate(resolve));
      ticking?.[Symbol.dispose]();
    },
  };
}
