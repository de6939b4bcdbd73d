// Counts allowed and blocked connections, and reports the counts in intervals, so that a server cannot flood the log.

const intervalMs = 200;
/** Maximum number of distinct targets of a server in one report. Further targets are counted together. */
const maxTargets = 50;
const maxTargetLength = 300;

export function createReports(write) {
  /** The counts since the last report, by server. */
  const counts = new Map();
  let timer;

  function flush() {
    timer = undefined;
    for (const [server, { allowed, blocked }] of counts)
      write({ traffic: { server, allowed, blocked: [...blocked.values()] } });
    counts.clear();
  }

  function countsOf(server) {
    timer ??= setTimeout(flush, intervalMs);
    const found = counts.get(server) ?? { allowed: 0, blocked: new Map() };
    counts.set(server, found);
    return found;
  }

  return {
    allowed: server => void countsOf(server).allowed++,
    blocked(server, target, why) {
      const { blocked } = countsOf(server);
      const shown = target.slice(0, maxTargetLength);
      const key = blocked.has(shown) || blocked.size < maxTargets ? shown : 'other targets';
      const found = blocked.get(key);
      if (found) found.count++;
      else blocked.set(key, { target: key, why, count: 1 });
    },
  };
}
