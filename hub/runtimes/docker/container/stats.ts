import type { ContainerStats } from 'dockerode';
import type { Usage } from '#runtimes';

const nanosPerMs = 1_000_000;

/** Resource usage of a container, without reclaimable page cache. */
export function usageOf(stats: ContainerStats): Usage | undefined {
  // Statistics of a container that has just exited are empty.
  if (stats.memory_stats?.usage === undefined) return undefined;
  const { usage, limit, stats: memory } = stats.memory_stats;
  // cgroup v2 and v1, as in `docker stats`.
  const reclaimable = memory?.inactive_file ?? memory?.total_inactive_file ?? 0;
  return {
    memoryBytes: Math.max(0, usage - reclaimable),
    memoryLimitBytes: limit,
    pids: stats.pids_stats?.current ?? 0,
    pidsLimit: stats.pids_stats?.limit ?? 0,
    cpuMs: Math.round(stats.cpu_stats.cpu_usage.total_usage / nanosPerMs),
  };
}
