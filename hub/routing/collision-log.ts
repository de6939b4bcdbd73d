import type { Log } from '#core';
import type { Collision } from './names.ts';

/** Maximum number of collisions that are logged; `/servers` lists all of them. */
const maxKnown = 10_000;
/** Maximum number of collisions named in one log line. */
const maxShown = 20;

/** Logs each collision once. The returned function is called with all current collisions. */
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
