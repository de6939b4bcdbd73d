import { type Clock, type Log, createTicker, retryable, untilIdle } from '#core';
import { type Principal, isSamePrincipal, withProfile } from '#policy';
import type { Endpoint, Router } from '#routing';
import {
  type Connection,
  type ConnectionNeeds,
  type Wire,
  createConnection,
} from './connection.ts';
import { stopping } from './http-message.ts';

export type ClientConnections = ReturnType<typeof createConnections>;

export type ConnectionsOptions = {
  readonly maxConnections: number;
  /** Maximum number of connections of one principal, so that others find room. Default: `maxConnections`. */
  readonly maxPerPrincipal?: number;
  readonly maxUnsentBytes?: number;
};

type ConnectionsNeeds = Pick<ConnectionNeeds, 'unread'> & {
  readonly router: Pick<Router, 'open'>;
  readonly clock: Clock;
  readonly log: Log;
};

const defaultMaxUnsentBytes = 64 * 1024 * 1024;
const maxInFlight = 10_000;
/** Interval of keep-alives, in milliseconds. */
const keepAliveMs = 15_000;

/** Keeps the open connections. Each connection is one client, whose session ends with it. */
export function createConnections(
  {
    maxConnections,
    maxPerPrincipal = maxConnections,
    maxUnsentBytes = defaultMaxUnsentBytes,
  }: ConnectionsOptions,
  { router, clock, log, unread }: ConnectionsNeeds,
) {
  const open = new Map<Connection, { readonly wire: Wire; readonly endpoint: Endpoint }>();
  let draining = false;
  /** Sends keep-alives while a connection is open. */
  const ticker = createTicker(clock, keepAliveMs, () => {
    for (const { wire } of Array.from(open.values())) wire.keepAlive();
    return open.size > 0;
  });

  return {
    get size() {
      return open.size;
    },
    /** True if the hub is stopping and refuses new connections. */
    get isDraining() {
      return draining;
    },
    /**
     * Opens a connection of a principal. Throws HUB_SESSIONS_FULL at the maximum of connections, and HUB_SHUTTING_DOWN
     * while the hub stops.
     */
    open(endpoint: Endpoint, principal: Principal, wire: Wire): Connection {
      if (draining) throw stopping();
      if (open.size >= maxConnections)
        throw retryable(
          'HUB_SESSIONS_FULL',
          `${open.size} connections are open already. Close some, or try again later`,
        );
      const own = Array.from(open.keys()).filter(one => isSamePrincipal(one.principal, principal));
      if (own.length >= maxPerPrincipal)
        throw retryable(
          'HUB_SESSIONS_FULL',
          `this client has ${own.length} open connections, which is the most. Close some`,
        );
      const limits = { maxUnsentBytes, maxInFlight };
      const connection = createConnection(wire, limits, {
        open: send =>
          router.open(endpoint, principal, send, { over: wire.kind, clientName: wire.clientName }),
        isDraining: () => draining,
        closed(reason) {
          open.delete(connection);
          log.debug({ reason }, 'a connection ended');
        },
        log,
        unread,
      });
      open.set(connection, { wire, endpoint });
      ticker.start();
      return connection;
    },
    /** Closes the connections of an endpoint. */
    end(endpoint: Endpoint, reason: string): void {
      for (const [connection, one] of Array.from(open))
        if (one.endpoint === endpoint) connection.close(reason);
    },
    /** Closes the connections of a principal. */
    endOf(principal: Principal, reason: string): void {
      for (const connection of Array.from(open.keys()))
        if (isSamePrincipal(connection.principal, principal)) connection.close(reason);
    },
    /** Updates the grants of a principal on its open connections. */
    regrant(principal: Principal): void {
      for (const connection of open.keys())
        if (isSamePrincipal(connection.principal, principal))
          connection.principal = withProfile(principal, connection.principal.profile);
    },
    /** Refuses new requests, waits at most `graceMs` for those in flight, then closes all connections. */
    async drain(graceMs: number): Promise<void> {
      draining = true;
      // The router ends `subscriptions/listen` requests before their connections are closed.
      await Promise.resolve();
      await untilIdle(
        () => Array.from(open.keys()).some(({ inFlight }) => inFlight > 0),
        graceMs,
        clock,
      );
      for (const connection of Array.from(open.keys())) connection.close('the hub is stopping');
      // The last messages of the connections are sent at the end of this turn.
      await new Promise<void>(resolve => setImmediate(resolve));
      ticker[Symbol.dispose]();
    },
  };
}
