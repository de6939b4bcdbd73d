import { execFileSync } from 'node:child_process';
import { chmod, mkdir, open, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { HubError } from '#core';
import { makeTempFolder } from '#helpers/temp-folder';
import { watchWorkspace } from '../../../hub/agents/host/workspace-watch.ts';
import { createManualClock } from '../../helpers/clock.ts';

async function watch(maxBytes: number) {
  const folder = makeTempFolder('watch');
  const clock = createManualClock();
  const reasons: HubError[] = [];
  const watching = watchWorkspace(
    { id: 'ada', folder, maxBytes: () => maxBytes, exceeded: why => reasons.push(why) },
    clock,
  );
  /** Advances the clock by 1 s, and waits until the check of the workspace has ended. */
  async function second(): Promise<void> {
    clock.advance(1_000);
    await expect.poll(() => clock.waiting + reasons.length, { interval: 5 }).toBeGreaterThan(0);
  }
  return { folder, reasons, watching, second };
}

test('a workspace above its limit is reported once', async () => {
  const { folder, reasons, second } = await watch(100_000);
  await mkdir(join(folder, 'deep'));
  await writeFile(join(folder, 'deep', 'a'), 'x'.repeat(60_000));
  await second();
  expect(reasons).toEqual([]);
  await writeFile(join(folder, 'b'), 'x'.repeat(60_000));
  await second();
  expect(reasons).toMatchObject([{ code: 'HUB_WORKSPACE_FULL' }]);
});

test('symbolic links are not followed, and holes of sparse files do not count', async () => {
  const { folder, reasons, second } = await watch(100_000);
  await symlink('/', join(folder, 'all'));
  const sparse = await open(join(folder, 'sparse'), 'w');
  await sparse.truncate(10_000_000);
  await sparse.close();
  await second();
  expect(reasons).toEqual([]);
});

test('a disposed watch reports nothing', async () => {
  const { folder, reasons, watching } = await watch(1_000);
  await writeFile(join(folder, 'a'), 'x'.repeat(60_000));
  watching[Symbol.dispose]();
  await new Promise(resolve => setTimeout(resolve, 20));
  expect(reasons).toEqual([]);
});

/** Creates a file below `count` folders with long names, as an agent can from inside of them. */
function writeDeep(folder: string, count: number): void {
  const script = `
    const name = 'd'.repeat(200);
    for (let depth = 0; depth < ${count}; depth++) {
      fs.mkdirSync(name);
      process.chdir(name);
    }
    fs.writeFileSync(name, Buffer.alloc(9_000));`;
  execFileSync(process.execPath, ['--eval', script], { cwd: folder });
}

test.each([
  ['folder', 30],
  ['file', 20],
])('a %s whose path is too long for the system stops the agent', async (_, count) => {
  const { folder, reasons, second } = await watch(100_000_000);
  writeDeep(folder, count);
  await second();
  expect(reasons).toMatchObject([{ code: 'HUB_WORKSPACE_FULL' }]);
  expect(reasons[0]?.message.length).toBeLessThan(1_000);
  // `rm` does not use whole paths, which are too long for `rm` of Node.
  execFileSync('rm', ['-rf', folder]);
});

test.skipIf(process.getuid?.() === 0)(
  'a folder whose files the hub may list but not measure stops the agent (needs a user other than root)',
  async () => {
    const { folder, reasons, second } = await watch(100_000);
    await mkdir(join(folder, 'shut'));
    await writeFile(join(folder, 'shut', 'a'), 'x'.repeat(200_000));
    await chmod(join(folder, 'shut'), 0o444);
    await second();
    expect(reasons).toMatchObject([{ code: 'HUB_WORKSPACE_FULL' }]);
    await chmod(join(folder, 'shut'), 0o755);
  },
);
