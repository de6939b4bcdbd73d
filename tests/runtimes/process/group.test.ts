import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'vitest';
import { createZombieCheck, linuxProcesses } from '../../../hub/runtimes/process/group.ts';
import { until } from '../../contracts/recorder.ts';

/** Creates a process table by pid, and counts how often all processes are listed. */
function machine(processes: Record<string, { group: string; isZombie: boolean }>) {
  let lists = 0;
  return {
    processes,
    lists: () => lists,
    list: () => (lists++, Object.keys(processes)),
    find: (pid: string) => processes[pid],
  };
}

test('while a member lives, all processes are listed only once, however often it is checked', () => {
  const box = machine({
    1: { group: '1', isZombie: false },
    7: { group: '7', isZombie: false },
    8: { group: '7', isZombie: true },
  });
  const isAllZombies = createZombieCheck(7, box);
  for (let round = 0; round < 100; round++) assert.equal(isAllZombies(), false);
  assert.equal(box.lists(), 1);
});

test('a member that was started later is found when earlier ones have ended', () => {
  const box = machine({ 7: { group: '7', isZombie: false } });
  const isAllZombies = createZombieCheck(7, box);
  assert.equal(isAllZombies(), false);
  box.processes[9] = { group: '7', isZombie: false };
  box.processes[7] = { group: '7', isZombie: true };
  assert.equal(isAllZombies(), false);
  box.processes[9] = { group: '7', isZombie: true };
  assert.equal(isAllZombies(), true);
});

test('a process id that was reused by another group counts for that group', () => {
  const box = machine({ 7: { group: '7', isZombie: false } });
  const isAllZombies = createZombieCheck(7, box);
  assert.equal(isAllZombies(), false);
  box.processes[7] = { group: '70', isZombie: false };
  assert.equal(isAllZombies(), true);
});

test.runIf(process.platform === 'linux')('what Linux tells of a group is understood', async () => {
  // `sleep` replaces the shell by `exec` and never waits for this child. The child exits only after that, because the
  // shell would reap it.
  const child = 'until [ "$(cat /proc/$PPID/comm)" = sleep ]; do sleep 0.01; done';
  const parent = spawn('sh', ['-c', `sh -c '${child}' & echo; exec sleep 60`], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const { pid } = parent;
  assert.ok(pid !== undefined);
  try {
    const inGroup = () =>
      linuxProcesses
        .list()
        .map(linuxProcesses.find)
        .filter(found => found?.group === String(pid));
    await until(() => inGroup().some(found => found?.isZombie), 'a zombie in the group');
    assert.equal(createZombieCheck(pid, linuxProcesses)(), false, 'its parent lives');
    assert.equal(createZombieCheck(2 ** 30, linuxProcesses)(), true, 'a group of nobody');
  } finally {
    parent.kill('SIGKILL');
  }
});
