import type { Clock, Timer } from '#core';
import type { Owner } from './caller.ts';
import { type Owned, type Place, createByOwner } from './ownership.ts';

/**
 * Requests that nobody waits for any more, and that the server may still work on: what it says of them
 * must not be taken for something about the calls of others.
 */
export interface Abandoned {
  add(id: number, owner: Owner): void;
  /** The server has answered after all: it works on it no more. */
  answered(id: number): void;
  /** Whose they are, where all are of one client. */
  owner(): Owner | 'none' | 'several';
  clear(): void;
}

/** A server that obeys never answers what was cancelled: it is taken for done with it after this long. */
const lifeMs = 30_000;
/** Of more, the oldest are taken for done. */
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
