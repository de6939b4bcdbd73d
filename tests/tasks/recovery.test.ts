import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { cp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isLong } from '#helpers/length';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, test } from 'vitest';
import { type Scene, createScene, git } from '../repositories/harness.ts';
import { imagesDir } from '../runtimes/docker/hub.ts';
import { remainsIn } from './pipeline.ts';

let scene: Scene;
/** The hub as one file: it is started for each record, and starts faster than from its sources. */
let program: string;
beforeAll(async () => {
  scene = createScene('process');
  program = join(scene.home, 'program/killed-hub.mjs');
  await using bundle = await rolldown({
    input: join(import.meta.dirname, 'killed-hub.ts'),
    platform: 'node',
    tsconfig: false,
  });
  await bundle.write({ file: program, codeSplitting: false });
  await cp('hub/tasks/prompts', join(scene.home, 'program/prompts'), { recursive: true });
});
afterAll(async () => await scene[Symbol.asyncDispose]());

/** More runs than a task has records. */
const maxRuns = 40;

/** Runs a hub once. Resolves with the signal that ended it, or its exit code. */
async function runHub(...args: readonly string[]): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const env = { ...process.env, NODE_COMPILE_CACHE: join(scene.home, 'program/cache') };
  execFile(
    process.execPath,
    [program, ...args],
    { timeout: 60_000, env },
    (error, _stdout, stderr) => {
      resolve(error ? (error.signal ?? `${error.code}: ${stderr}`) : 'exit 0');
    },
  );
  return await promise;
}

/** Kills hub after hub at the next record of the journal, until one comes to the end. */
async function killAtEachRecord(killing: 'after' | 'before') {
  const path = scene.create({ 'README.md': 'A\n' });
  const folder = mkdtempSync(join(tmpdir(), 'killed-'));
  const ends: string[] = [];
  while (ends.at(-1) !== 'exit 0' && ends.length < maxRuns) {
    ends.push(await runHub(folder, path, imagesDir, killing));
    assert.match(ends.at(-1) ?? '', /^(?:SIGKILL|exit 0)$/);
  }
  const notes = readFileSync(join(folder, 'notes'), 'utf8').trimEnd().split('\n');
  await rm(folder, { recursive: true, force: true });
  return { path, ends, notes };
}

function assertMergedOnce(path: string): void {
  assert.deepEqual(remainsIn(path), {
    handoff: ['REVIEW_REQUEST.md', 'TASK_CONTRACT.json'],
    status: 'done',
    branch: [],
    main: ['Review add-sum', 'Implement add-sum', 'first'],
    worktrees: 1,
    tree: '',
  });
  assert.ok(!existsSync(join(path, '.git/agenthub/state/task-lease.json')), 'no lease is left');
  assert.equal(git(path, 'fsck', '--no-dangling'), '');
}

const limit = { timeout: 240_000 };

test(
  'a hub that is killed after every record of the journal merges the task, and asks no model twice',
  limit,
  async () => {
    const { path, ends, notes } = await killAtEachRecord('after');
    assertMergedOnce(path);
    assert.deepEqual(
      notes.filter(note => note.startsWith('asked')),
      ['asked coder', 'asked critic'],
    );
    assert.deepEqual(
      notes.filter(note => note.startsWith('record')).map(note => note.slice('record '.length)),
      [
        'created',
        'written',
        'setup',
        'prepared',
        'written',
        'begin',
        'answered',
        'checked',
        'committed',
        'written',
        'begin',
        'answered',
        'reviewed',
        'committed',
        'written',
        'judge',
        'written',
        'finalize',
        'merged',
        'cleaned',
        'written',
      ],
    );
    assert.equal(ends.filter(end => end === 'SIGKILL').length, 21);
  },
);

test.skipIf(!isLong)(
  'a hub that is killed before every record repeats each effect without harm',
  limit,
  async () => {
    const { path } = await killAtEachRecord('before');
    assertMergedOnce(path);
  },
);
