import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { HubError } from '#core';
import {
  readBuildContext,
  readLock,
  stateOfFolder,
} from '../../../../hub/runtimes/docker/image/build-context.ts';

test('the files of a folder are packed for tar, without documentation files', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'context-'));
  try {
    writeFileSync(join(folder, 'Dockerfile'), 'FROM x\n');
    writeFileSync(join(folder, 'empty'), '');
    writeFileSync(join(folder, 'block'), 'b'.repeat(512));
    writeFileSync(join(folder, 'README.md'), '# For people');
    mkdirSync(join(folder, 'sub'));
    const archive = await readBuildContext(folder);
    assert.equal(archive.length % 512, 0);
    const tar = (...args: readonly string[]) =>
      execFileSync('tar', [...args], { input: archive, encoding: 'utf8' });
    assert.equal(tar('-tf', '-'), 'Dockerfile\nblock\nempty\n');
    assert.equal(tar('-xOf', '-', 'Dockerfile'), 'FROM x\n');
    assert.equal(tar('-xOf', '-', 'block'), 'b'.repeat(512));
    assert.deepEqual(await readBuildContext(folder), archive, 'the same files, the same bytes');
    assert.equal(readLock(archive), undefined);
    for (const lock of ['', 'a==1\n', 'ü'.repeat(500)]) {
      const locked = await readBuildContext(folder, lock);
      assert.equal(readLock(locked), lock);
      const held = execFileSync('tar', ['-xOf', '-', 'lock'], { input: locked, encoding: 'utf8' });
      assert.equal(held, lock);
    }
    for (const none of [Buffer.alloc(0), Buffer.from('no archive'), Buffer.alloc(5000, 'x')])
      assert.equal(readLock(none), undefined);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a missing folder is named', async () => {
  await assert.rejects(
    readBuildContext('/no/such/folder'),
    (error: unknown) => error instanceof HubError && error.message.includes('/no/such/folder'),
  );
});

test('the state of a folder changes with its files, even with one of the same size', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'context-'));
  try {
    const states: string[] = [];
    for (const [name, text] of [
      ['a', 'one'],
      ['a', 'two'],
      ['b', ''],
    ] as const) {
      writeFileSync(join(folder, `${name}.new`), text);
      renameSync(join(folder, `${name}.new`), join(folder, name));
      states.push(await stateOfFolder(folder));
    }
    assert.equal(new Set(states).size, 3);
    assert.equal(await stateOfFolder(folder), states[2]);
  } finally {
    rmSync(folder, { recursive: true });
  }
  await assert.rejects(stateOfFolder(folder), { code: 'HUB_INTERNAL' });
});
