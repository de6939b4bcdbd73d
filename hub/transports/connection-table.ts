import { type Clock, type Log, HubError } from '#core';
import type { Principal } from '#policy';
import type { Router, Endpoint } from '#routing';
import type { ByteBudget } from './byte-budget.ts';
import { type Connection, type Wire, createConnection } from './connection.ts';
import { stopping } from './unavailable.ts';

/** The open connections. Each is one client, whose session ends with it. */
export interface Connections {
  readonly size: number;
  /** Whether the hub is stopping and refuses new connections. */
  readonly isDraining: boolean;
  /**
   * Opens a connection of a principal. Throws HUB_SESSIONS_FULL at the maximum of connections, and HUB_SHUTTING_DOWN
   * while the hub stops.
   */
  open(endpoint: Endpoint, principal: Principal, wire: Wire): Connection;
  /** Closes the connections of a endpoint. */
  end(endpoint: Endpoint, reason: string): void;
  /** Refuses new requests, waits at most `graceMs` for those in flight, then closes all connections. */
  drain(graceMs: number): Promise<void>;
}

export type ConnectionsOptions = {
  readonly maxConnections: number;
  /** A client with more unread bytes is dropped. */
  readonly maxUnsentBytes?: number;
};

export type ConnectionsNeeds = {
  readonly router: Pick<Router, 'open'>;
  readonly clock: Clock;
  readonly log: Log;
  /** The unread bytes of all clients. Absent: they are not counted. */
  readonly unread?: ByteBudget;
};

const defaultMaxUnsentBytes = 64 * 1024 * 1024;
const maxInFlight = 10_000;
/** Interval of keep-alives, in milliseconds. */
const keepAliveMs = 15_000;
const lookMs = 20;

export function createConnections(
  options: ConnectionsOptions,
  needs: ConnectionsNeeds,
): Connections {
  const { router, clock, log } = needs;
  const maxUnsentBytes = options.maxUnsentBytes ?? defaultMaxUnsentBytes;
  const open = new Map<Connection, { readonly wire: Wire; readonly endpoint: Endpoint }>();
  let draining = false;
  let ticking: Disposable | undefined;

  function tick(): void {
    ticking = undefined;
    for (const { wire } of Array.from(open.values())) wire.keepAlive();
    keepTicking();
  }

  /** The ticker runs while a connection is open. */
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
    open(endpoint, principal, wire) {
      checkRoom();
      const connection = createConnection(
        wire,
        { maxUnsentBytes, maxInFlight },
        {
          open: send => router.open(endpoint, principal, send, { over: wire.kind }),
          isDraining: () => draining,
          closed(reason) {
            open.delete(connection);
            log.debug({ reason }, 'a connection is over');
          },
          log,
          ...(needs.unread && { unread: needs.unread }),
        },
      );
      open.set(connection, { wire, endpoint });
      keepTicking();
      return connection;
    },
    end(endpoint, reason) {
      for (const [connection, one] of Array.from(open))
        if (one.endpoint === endpoint) connection.close(reason);
    },
    async drain(graceMs) {
      draining = true;
      // The router ends requests to listen before their connections are closed.
      await Promise.resolve();
      const until = clock.monotonic() + graceMs;
      while (isBusy() && clock.monotonic() < until)
        await new Promise<void>(resolve => clock.after(lookMs, resolve));
      for (const connection of Array.from(open.keys())) connection.close('the hub is stopping');
      // Their last messages are sent at the end of this turn.
      await new Promise<void>(resolve => setImmediate(resolve));
      ticking?.[Symbol.dispose]();
    },
  };
}
