import { spawn } from 'node:child_process';
import { type Clock, sleep } from '#core';
import { createZombieCheck, linuxProcesses } from './members.ts';

/** A server's process and everything it has started: npx, for one, leaves the work to a child. */
export type Group = {
  /** Asks all of it to end. */
  terminate(): void;
  /** Ends all of it at once. */
  kill(): void;
  /** Resolves when nothing of it lives: it is left alone for `graceMs`, then it is killed. */
  gone(graceMs: number): Promise<void>;
};

const pollMs = 20;
/** What the kernel needs to clear away what was killed. */
const clearMs = 1000;

/** The group that a process leads: it was spawned `detached`, so the group has its number. */
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
      // Nobody is left, or on macOS nobody but zombies.
      return false;
    }
  };
  // Where the first process of a container does not reap, the dead stay in the group for ever as
  // zombies: signals to them succeed.
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

/** Windows knows no groups and no polite signal: taskkill ends the tree under the process. */
function createTree(leader: number): Group {
  const kill = () => {
    const taskkill = spawn('taskkill', ['/pid', String(leader), '/T', '/F'], { stdio: 'ignore' });
    // It fails where the process is gone already, which is what was wanted.
    taskkill.on('error', () => {});
  };
  return { terminate: kill, kill, gone: async () => {} };
}
