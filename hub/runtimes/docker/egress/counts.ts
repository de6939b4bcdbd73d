import type { Clock, Log } from '#core';
import type { BlockedTarget, EgressReport } from '#runtimes';
import type { Traffic } from './protocol.ts';

const maxTargets = 20;
/** Minimum time in ms between two log lines about one target of a server. */
const logEveryMs = 60_000;
const maxServers = 1_000;

type Counted = { allowed: number; blockedCount: number; blocked: Map<string, BlockedTarget> };

/** Counts the connections of servers by the forwarder's reports, and logs the refused ones. */
export function createEgressCounts({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
  const counts = new Map<string, Counted>();

  function countedOf(server: string): Counted {
    const found = counts.get(server) ?? { allowed: 0, blockedCount: 0, blocked: new Map() };
    // The server with the latest traffic is the last one.
    counts.delete(server);
    counts.set(server, found);
    if (counts.size > maxServers) dropFirst(counts);
    return found;
  }

  return {
    add({ server, allowed, blocked }: Traffic): void {
      const counted = countedOf(server);
      counted.allowed += allowed;
      for (const { target, why, count } of blocked) {
        counted.blockedCount += count;
        const before = counted.blocked.get(target);
        const lastAt = clock.now();
        if (!before || lastAt - before.lastAt >= logEveryMs)
          log.warn({ server, target, count }, `blocked: ${target} ${why}`);
        counted.blocked.delete(target);
        counted.blocked.set(target, { target, why, count: count + (before?.count ?? 0), lastAt });
        if (counted.blocked.size > maxTargets) dropFirst(counted.blocked);
      }
    },
    /** Undefined if the server has not tried to reach anything. */
    find(server: string): EgressReport | undefined {
      const found = counts.get(server);
      return (
        found && {
          allowed: found.allowed,
          blockedCount: found.blockedCount,
          blocked: [...found.blocked.values()].toReversed(),
        }
      );
    },
  };
}

function dropFirst(map: Map<string, unknown>): void {
  const [first] = map.keys();
  if (first !== undefined) map.delete(first);
}
