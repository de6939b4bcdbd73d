import { readFileSync, readdirSync } from 'node:fs';

/** The processes of this machine. `find` returns undefined for a process that has exited. */
export type Processes = {
  readonly list: () => readonly string[];
  readonly find: (
    pid: string,
  ) => { readonly group: string; readonly isZombie: boolean } | undefined;
};

/**
 * Checks if a process group contains only zombies. Lists all processes, which is expensive, only when none of those
 * found before is alive.
 */
export function createZombieCheck(group: number, { list, find }: Processes): () => boolean {
  let alive: readonly string[] = [];
  const isAlive = (pid: string) => {
    const found = find(pid);
    return found !== undefined && found.group === String(group) && !found.isZombie;
  };
  return () => {
    alive = alive.filter(isAlive);
    if (alive.length === 0) alive = list().filter(isAlive);
    return alive.length === 0;
  };
}

/** From `/proc/PID/stat`: pid, (name), state, parent, group. */
export const linuxProcesses: Processes = {
  list: () => readdirSync('/proc').filter(name => /^\d+$/.test(name)),
  find(pid) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      // The name may contain spaces and parentheses.
      const [state, , group = ''] = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 3);
      return { group, isZombie: state === 'Z' || state === 'X' };
    } catch {
      // The process has ended.
      return undefined;
    }
  },
};
