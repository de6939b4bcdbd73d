import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposable, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, test } from 'vitest';
import { isObject } from '#core';
import { isAlive } from './alive.ts';
import { launchSource } from './launch.ts';

const up = `process.stdout.write(JSON.stringify({jsonrpc:'2.0',method:'up'}) + '\\n');`;
const on = 'setInterval(() => {}, 1000);';

/** Kills a hub that has launched a program. Returns the pid of the program. */
async function killHubOf(source: string): Promise<number> {
  const hub = spawn(
    process.execPath,
    [join(import.meta.dirname, 'hub-of-one.ts'), process.execPath, '-e', source],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const [said] = await once(hub.stdout, 'data');
  const about: unknown = JSON.parse(String(said));
  assert.ok(isObject(about) && typeof about['pid'] === 'number');
  hub.kill('SIGKILL');
  await once(hub, 'exit');
  return about['pid'];
}

/** Resolves when a process has ended. Fails after 20 s. */
async function ended(pid: number): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (isAlive(pid)) {
    assert.ok(performance.now() < deadline, `${pid} outlives its hub`);
    await delay(50);
  }
}

/** Returns the watcher shells of the processes that this process has launched. */
const watchers = (): readonly string[] =>
  execFileSync('ps', ['-A', '-o', 'ppid=,args='], { encoding: 'utf8' })
    .split('\n')
    .filter(line => line.includes('agenthub-watcher') && Number.parseInt(line, 10) === process.pid);

describe.skipIf(process.platform === 'win32')('a hub that is killed', () => {
  test('leaves no server that ignores both the end of its input and SIGTERM', async () => {
    const pid = await killHubOf(`process.on('SIGTERM', () => {}); ${on} ${up}`);
    assert.ok(isAlive(pid), 'the hub cannot have ended it');
    await ended(pid);
  });

  test('leaves no child of a server that has already exited', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'watcher-'));
    const file = join(folder.path, 'child');
    const pid = await killHubOf(
      `const child = require('node:child_process').spawn(process.execPath,
         ['-e', "process.on('SIGTERM', () => {}); ${on}"], { stdio: 'ignore' });
       require('node:fs').writeFileSync(${JSON.stringify(file)}, String(child.pid));
       process.stdin.on('end', () => process.exit(0)).resume(); ${up}`,
    );
    await ended(pid);
    await ended(Number(await readFile(file, 'utf8')));
  });

  test('leaves a server time to exit by itself', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'watcher-'));
    const file = join(folder.path, 'saved');
    const pid = await killHubOf(
      `process.stdin.on('end', () => setTimeout(() => {
         require('node:fs').writeFileSync(${JSON.stringify(file)}, 'all');
         process.exit(0);
       }, 1_000)).resume(); ${up}`,
    );
    await ended(pid);
    assert.equal(await readFile(file, 'utf8'), 'all');
  });

  test('has a watching shell only while a server runs, and one for all servers', async () => {
    const instances = await Promise.all([launchSource(on), launchSource(on)]);
    assert.equal(watchers().length, 2, 'each runtime has one');
    await Promise.all(instances.map(instance => instance.stop({ graceMs: 200 })));
    const deadline = performance.now() + 5_000;
    while (watchers().length > 0) {
      assert.ok(performance.now() < deadline, 'a shell is left');
      await delay(20);
    }
  });
});
