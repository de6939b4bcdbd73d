import type { Socket } from 'node:net';
import { type Principal, policyNameOf } from '#policy';

/** Limits the connections per principal. */
export type ConnectionShares = ReturnType<typeof createConnectionShares>;

type Holder = { name: string | undefined };

/**
 * Limits the connections of one principal to half of the maximum, so that others can connect. Local callers and
 * callers with the hub's own tokens have no limit: they are many programs of one user.
 */
export function createConnectionShares(maxConnections: number) {
  const share = Math.max(1, Math.floor(maxConnections / 2));
  const holders = new WeakMap<Socket, Holder>();
  const counts = new Map<string, number>();

  function release(holder: Holder): void {
    if (holder.name === undefined) return;
    const left = (counts.get(holder.name) ?? 1) - 1;
    if (left > 0) counts.set(holder.name, left);
    else counts.delete(holder.name);
    holder.name = undefined;
  }

  function open(socket: Socket): Holder {
    const holder: Holder = { name: undefined };
    holders.set(socket, holder);
    socket.once('close', () => {
      release(holder);
      holders.delete(socket);
    });
    return holder;
  }

  function take(socket: Socket, principal: Principal): boolean {
    const isBounded = principal.kind !== 'local';
    const known = holders.get(socket);
    if (!isBounded && !known) return true;
    const name = isBounded ? policyNameOf(principal) : undefined;
    if (known && known.name === name) return true;
    const count = name === undefined ? 0 : (counts.get(name) ?? 0);
    if (count >= share || socket.destroyed) return false;
    const holder = known ?? open(socket);
    // A proxy may send the requests of several clients on one connection.
    release(holder);
    holder.name = name;
    if (name !== undefined) counts.set(name, count + 1);
    return true;
  }

  return {
    /**
     * Counts a connection for a principal until it closes or another principal uses it. False if the principal has
     * reached its limit.
     */
    take,
    /** Returns the reason why `take` refused a principal. */
    reasonFor: (principal: Principal): string =>
      `${JSON.stringify(policyNameOf(principal))} has ${counts.get(policyNameOf(principal)) ?? 0} connections open, half of MAX_CONNECTIONS, the most that one client may hold. Close some, or try again later`,
  };
}
