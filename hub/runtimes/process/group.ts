import { spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { type Clock, sleep } from '#core';

/** The process of a server and its descendants: npx, for example, runs the server as a child process. */
type Group = {
  terminate(): void;
  kill(): void;
  /** Resolves when all processes have exited. Kills them after `graceMs`. */
  gone(graceMs: number): Promise<void>;
};

const pollMs = 20;
/** Timeout in ms for killed processes to disappear. */
const clearMs = 1000;

/** Creates the group of a process that was spawned `detached`, so that its pid is the group id. */
export function createGroup(
  leader: number,
  platform: NodeJS.Platform,
  clock: Pick<Clock, 'after' | 'monotonic'>,
): Group {
  if (platform === 'win32') return createTree(leader);
  const signal = (name: NodeJS.Signals | 0): boolean => {
    try {
      return process.kill(-leader, name);
    } catch {
      // The group is empty. On macOS it may contain zombies.
      return false;
    }
  };
  // If pid 1 of a container does not reap, dead processes remain in the group, and signals to them succeed.
  const isAllZombies =
    platform === 'linux' ? createZombieCheck(leader, linuxProcesses) : () => false;
  const goneWithin = async (ms: number): Promise<boolean> => {
    const deadline = clock.monotonic() + ms;
    while (signal(0) && !isAllZombies()) {
      if (clock.monotonic() >= deadline) return false;
      await sleep(pollMs, { clock });
    }
    return true;
  };
  return {
    terminate: () => void signal('SIGTERM'),
    kill: () => void signal('SIGKILL'),
    async gone(graceMs) {
      if (await goneWithin(graceMs)) return;
      signal('SIGKILL');
      await goneWithin(clearMs);
    },
  };
}

/**
 * Creates the process tree of a server on Windows, which has no process groups and no SIGTERM: taskkill ends the tree.
 */
function createTree(leader: number): Group {
  const kill = () => {
    const taskkill = spawn('taskkill', ['/pid', String(leader), '/T', '/F'], { stdio: 'ignore' });
    // Fails if the process has already exited.
    taskkill.on('error', () => {});
  };
  return { terminate: kill, kill, gone: async () => {} };
}

/** Access to the processes of this machine. `find` returns undefined for a process that has exited. */
type Processes = {
  readonly list: () => readonly string[];
  readonly find: (
    pid: string,
  ) => { readonly group: string; readonly isZombie: boolean } | undefined;
};

/**
 * Returns a function that checks if a group contains only zombies. It lists all processes, which is slow, only if all
 * known ones have ended.
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

/** Reads processes from `/proc/PID/stat`: pid, (name), state, parent, group. */
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
