import { readFileSync, readdirSync } from 'node:fs';

/** The processes of this machine: their numbers, and what one of them is; undefined once it has ended. */
export type Processes = {
  readonly list: () => readonly string[];
  readonly find: (
    pid: string,
  ) => { readonly group: string; readonly isZombie: boolean } | undefined;
};

/**
 * Answers whether nobody but zombies is left in a process group. All processes are looked through only
 * where none that was found alive before still is, as a look at one costs little and at all of them much.
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

/** As Linux tells in `/proc/PID/stat`: number, (name), state, parent, group. */
export const linuxProcesses: Processes = {
  list: () => readdirSync('/proc').filter(name => /^\d+$/.test(name)),
  find(pid) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      // The name may hold spaces and parentheses.
      const [state, , group = ''] = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 3);
      return { group, isZombie: state === 'Z' || state === 'X' };
    } catch {
      return undefined;
    }
  },
};
