import type { Log } from '#core';
import type { Collision } from './names.ts';

/** More collisions are not told of: the lists show them. */
const maxKnown = 10_000;
/** A line of the log names no more of them. */
const maxShown = 20;

/** Tells the operator of each collision once, however often it is given all that there are. */
export function createCollisionLog(log: Pick<Log, 'warn'>): (all: readonly Collision[]) => void {
  const known = new Set<string>();
  return all => {
    const fresh = all.filter(({ server, name, publicName }) => {
      const key = JSON.stringify([server, name, publicName]);
      if (known.has(key) || known.size >= maxKnown) return false;
      known.add(key);
      return true;
    });
    if (fresh.length === 0) return;
    const fields = { collisions: fresh.slice(0, maxShown), count: fresh.length };
    log.warn(fields, 'servers want the same names: some got others');
  };
}
