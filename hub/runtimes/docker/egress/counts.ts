import { type Clock, type Log, setBounded } from '#core';
import type { BlockedTarget, EgressReport } from '#runtimes';
import type { Traffic } from './protocol.ts';

const maxTargets = 20;
/** Minimum time in ms between two log lines about the same target of a server. */
const logEveryMs = 60_000;
const maxServers = 1_000;
/** Maximum number of log lines about targets of one server in `logEveryMs`: a server can invent any number of names. */
const maxLines = 50;

type Counted = {
  allowed: number;
  blockedCount: number;
  blocked: Map<string, BlockedTarget>;
  /** Number of log lines since `linesAt`. */
  lines: number;
  linesAt: number;
};

/** Counts the connections of servers that the forwarder reports, and logs the refused ones. */
export function createEgressCounts({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
  const counts = new Map<string, Counted>();

  function countedOf(server: string): Counted {
    const found = counts.get(server) ?? {
      allowed: 0,
      blockedCount: 0,
      blocked: new Map(),
      lines: 0,
      linesAt: clock.now(),
    };
    // Inserted again as the last entry: the server without traffic for the longest time is dropped first.
    setBounded(counts, server, found, maxServers);
    return found;
  }

  function tell(
    server: string,
    counted: Counted,
    { target, why, count }: Traffic['blocked'][number],
  ): void {
    const now = clock.now();
    if (Math.abs(now - counted.linesAt) >= logEveryMs) {
      counted.lines = 0;
      counted.linesAt = now;
    }
    counted.lines++;
    if (counted.lines <= maxLines) log.warn({ server, target, count }, `blocked: ${target} ${why}`);
    else if (counted.lines === maxLines + 1)
      log.warn({ server }, 'more targets were blocked, and are counted only');
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
          tell(server, counted, { target, why, count });
        const blockedNow = { target, why, count: count + (before?.count ?? 0), lastAt };
        setBounded(counted.blocked, target, blockedNow, maxTargets);
      }
    },
    /** Returns the counts of a server; undefined if it has not tried to connect to anything. */
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
