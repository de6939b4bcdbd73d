import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/**
 * Keeps what is compared on one core, and who calls it on another. The system puts two processes on one core or on
 * two as it likes, and waking one on another core takes 60 us: as much as what is compared. Where there is no
 * taskset, or no second core, all stays as the system likes it.
 */
export function pinApart(compared: readonly number[], caller = process.pid): Disposable {
  const cores = availableParallelism();
  const keep = (pid: number, core: string) => {
    try {
      execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', core, String(pid)], {
        stdio: 'ignore',
      });
    } catch {
      // Not Linux, or none of its tools.
    }
  };
  if (cores > 1) {
    keep(caller, '0');
    for (const pid of compared) keep(pid, '1');
  }
  return { [Symbol.dispose]: () => keep(caller, `0-${cores - 1}`) };
}
