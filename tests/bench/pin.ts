import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/**
 * Keeps what is compared on one core, and those who call it on another. The system puts two processes on one core or
 * on two as it likes, and waking one on another core takes 60 us: as much as what is compared. Where there is no
 * taskset, or no second core, all stays as the system likes it.
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
        // Not Linux, none of its tools, or the process is gone.
      }
  };
  if (cores > 1) {
    keep(callers, '0');
    keep(compared, '1');
  }
  return { [Symbol.dispose]: () => keep([...compared, ...callers], `0-${cores - 1}`) };
}
