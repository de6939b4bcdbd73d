import type { Clock, Timer } from '#core';
import type { Owner } from './caller.ts';
import { type Owned, type Place, createByOwner } from './ownership.ts';

/**
 * Cancelled and timed-out requests that the server may still work on. They keep the hub from attributing the server's
 * messages about them to the calls of other clients.
 */
export interface Abandoned {
  add(id: number, owner: Owner): void;
  /** Forgets the request: the server has finished with it. */
  answered(id: number): void;
  /** The owner of all these requests; 'several' if they belong to more than one client. */
  owner(): Owner | 'none' | 'several';
  clear(): void;
}

/** How long a request is kept, in ms. A compliant server never answers a cancelled request, so the entry expires. */
const lifeMs = 30_000;
/** Maximum number of requests kept. Above it, the oldest is forgotten. */
const maxKept = 1_000;

type Kept = { readonly place: Place<Owned>; readonly timeout: Timer };

export function createAbandoned({ clock }: { readonly clock: Pick<Clock, 'after'> }): Abandoned {
  const kept = new Map<number, Kept>();
  const owners = createByOwner<Owned>();

  function answered(id: number): void {
    const one = kept.get(id);
    if (!one) return;
    one.timeout[Symbol.dispose]();
    owners.remove(one.place);
    kept.delete(id);
  }

  return {
    add(id, owner) {
      const timeout = clock.after(lifeMs, () => answered(id));
      kept.set(id, { place: owners.add({ owner }), timeout });
      const [oldest] = kept.size > maxKept ? kept.keys() : [];
      if (oldest !== undefined) answered(oldest);
    },
    answered,
    owner: () => (owners.isOfSeveral ? 'several' : (owners.newest?.owner ?? 'none')),
    clear() {
      for (const id of Array.from(kept.keys())) answered(id);
    },
  };
}
