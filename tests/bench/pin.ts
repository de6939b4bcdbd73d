import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/**
 * Pins the compared processes to one core, and their callers to another, until disposed. The system puts two processes
 * on one core or on two at random, and waking one on another core takes 60 us, as much as the differences. Does nothing
 * without `taskset` or a second core.
 */
export function pinApart(
  compared: readonly number[],
  callers: readonly number[] = [process.pid],
): Disposable {
  const cores = availableParallelism();
  const keep = (pids: readonly number[], on: string) => {
    for (const pid of pids)
      try {
        execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', on, String(pid)], {
          stdio: 'ignore',
        });
      } catch {
        // Not Linux, no `taskset`, or the process has exited.
      }
  };
  if (cores > 1) {
    keep(callers, '0');
    keep(compared, '1');
  }
  return { [Symbol.dispose]: () => keep([...compared, ...callers], `0-${cores - 1}`) };
}
