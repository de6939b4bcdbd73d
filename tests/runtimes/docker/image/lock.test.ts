import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { test } from 'vitest';
import { startCpuTimer } from '#helpers/cpu-time';
import { createBuildOutput, lockName } from '../../../../hub/runtimes/docker/image/lock.ts';

const told = (lock: string) => `agenthub-lock ${gzipSync(lock).toString('base64')}\n`;

test('the lock is read from a line of the output, however that is split, and not shown', () => {
  const text = `Step 1\n${told('{"a":1}')}added 1 package\nend`;
  for (let size = 1; size < 20; size += 6) {
    const output = createBuildOutput();
    const shown: string[] = [];
    for (let at = 0; at < text.length; at += size)
      shown.push(...output.push(text.slice(at, at + size)));
    shown.push(...output.end());
    assert.deepEqual(shown, ['Step 1', 'added 1 package', 'end']);
    assert.equal(output.lock(), '{"a":1}');
  }
});

test('the lock is found after colours, which the engine ends on the next line', () => {
  const output = createBuildOutput();
  assert.deepEqual(output.push(`\x1b[91mResolved\n\x1b[0m${told('true')}`), ['\x1b[91mResolved']);
  assert.equal(output.lock(), 'true');
});

test('the first lock counts, as scripts of packages run after it', () => {
  const output = createBuildOutput();
  output.push(told('true') + told('false'));
  assert.equal(output.lock(), 'true');
});

test('an invalid lock is ignored', () => {
  const output = createBuildOutput();
  assert.deepEqual(output.push('agenthub-lock AAAA\nagenthub-lock !\n'), ['agenthub-lock !']);
  assert.equal(output.lock(), undefined);
});

test('a line without an end, such as that of a progress bar, is read in linear time', () => {
  const output = createBuildOutput();
  const cpuMs = startCpuTimer();
  for (let part = 0; part < 4_000; part++) output.push('#'.repeat(1_000));
  assert.equal(output.push('!\n')[0]?.length, 4_000_001);
  assert.ok(cpuMs() < 1_000, `${cpuMs()} ms`);
});

test('a line that is too long is dropped', () => {
  const output = createBuildOutput();
  for (let part = 0; part < 5; part++) output.push('#'.repeat(2 ** 20));
  assert.deepEqual(output.push('end\n'), ['end']);
});

test('the lock of an npm package names no optional dependency that the registry does not have', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'agenthub-lock-'));
  const file = join(folder.path, 'package-lock.json');
  const found = { integrity: 'sha512-a' };
  const lockWith = (optionalDependencies: object) => ({
    packages: {
      '': { dependencies: { '@o/a': '1.0.0' } },
      'node_modules/@o/a': found,
      'node_modules/@o/a/node_modules/b': { ...found, optionalDependencies },
      'node_modules/@o/a/node_modules/b/node_modules/c': found,
      'node_modules/@o/a/node_modules/d': found,
    },
  });
  const inLock = { '@o/a': '1', c: '1', d: '1' };
  await writeFile(file, JSON.stringify(lockWith({ ...inLock, '@o/gone': '1' })));
  const program = resolve('images/npm/lock.mjs');
  const output = createBuildOutput();
  output.push(execFileSync(process.execPath, [program, 'tell'], { cwd: folder.path }).toString());
  assert.deepEqual(JSON.parse(output.lock() ?? ''), lockWith(inLock));
  assert.deepEqual(JSON.parse(await readFile(file, 'utf8')), lockWith(inLock));
});

test('a lock is named after its image', () => {
  assert.equal(
    lockName('agenthub/npm-left-pad:1.3.0-0123456789ab'),
    'npm-left-pad@1.3.0-0123456789ab',
  );
});
