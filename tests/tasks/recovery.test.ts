import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync } from 'node:fs';
import { cp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isLong } from '#helpers/length';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { type Scene, createScene, git } from '../repositories/harness.ts';
import { imagesDir } from '../runtimes/docker/hub.ts';
import { type KillPath, killPaths } from './kill-paths.ts';
import { remainsIn } from './pipeline.ts';

let scene: Scene;
/** Bundle of the hub in one file, because it is started for each record, and starts faster than from its sources. */
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
afterAll(async () => await scene?.[Symbol.asyncDispose]());

/** Limit on the number of runs, above the number of records of any path. */
const maxRuns = 40;
const words = (text: string) => text.split(' ');

/** Runs a hub once. Returns the signal that ended it, or its exit code. */
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

/**
 * Kills one hub after the other at the next record of the journal, until one reaches the end of a path. `spared`:
 * number of records that the first run makes before it is killed.
 */
async function killAtEachRecord(name: string, killing: 'after' | 'before', spared: number) {
  const path = scene.create({ 'README.md': 'A\n' });
  const folder = mkdtempSync(join(tmpdir(), 'killed-'));
  const ends: string[] = [];
  while (ends.at(-1) !== 'exit 0' && ends.length < maxRuns) {
    // With kills before a record, each later run makes one record first, because otherwise no run would achieve
    // anything.
    const first = ends.length === 0 ? spared : killing === 'before' ? 1 : 0;
    ends.push(await runHub(folder, path, imagesDir, name, killing, String(first)));
    assert.match(ends.at(-1) ?? '', /^(?:SIGKILL|exit 0)$/, `${name}, run ${ends.length}`);
  }
  const notes = readFileSync(join(folder, 'notes'), 'utf8').trimEnd().split('\n');
  await rm(folder, { recursive: true, force: true });
  const named = (what: string) =>
    notes.flatMap(note => (note.startsWith(`${what} `) ? [note.slice(what.length + 1)] : []));
  return {
    path,
    kills: ends.filter(end => end === 'SIGKILL').length,
    records: named('record'),
    asked: named('asked'),
    gates: notes.filter(note => note === 'gate').length,
  };
}

/**
 * Fails unless a task leaves exactly what its state implies: no lease, no lock, no other worktree, whole or partial,
 * and no broken object.
 */
function assertRemains(path: string, { remains }: KillPath): void {
  const found = remainsIn(path);
  assert.deepEqual(
    {
      ...found,
      handoff: found.handoff.join(' '),
      branch: found.branch.join(', '),
      main: found.main.join(', '),
    },
    { main: 'first', tree: '', ...remains },
  );
  const files = readdirSync(join(path, '.git'), { recursive: true }).map(String);
  assert.deepEqual(
    files.filter(file => file.endsWith('.lock') || file.endsWith('task-lease.json')),
    [],
  );
  const trees = remains.worktrees === 2 ? ['add-sum'] : [];
  const within = (folder: string) =>
    existsSync(join(path, '.git', folder)) ? readdirSync(join(path, '.git', folder)) : [];
  assert.deepEqual(within('agenthub/ready'), trees);
  for (const folder of ['agenthub/worktrees', 'worktrees'])
    assert.deepEqual(
      within(folder),
      trees.map(name => `agenthub-${name}`),
    );
  assert.equal(git(path, 'fsck', '--no-dangling'), '');
}

const paths: readonly (readonly [string, KillPath])[] = Object.entries(killPaths);
const limit = { timeout: 240_000 };

describe.concurrent('a hub that is killed after every record of a task continues:', () => {
  for (const [name, way] of paths)
    test(name, limit, async () => {
      // Of several paths with equal states, only the first one has its hub killed in them.
      const begins = way.begins === '' ? [] : words(way.begins);
      const spared = isLong ? 0 : Math.max(0, begins.length - 1);
      const { path, records, asked, gates, kills } = await killAtEachRecord(name, 'after', spared);
      assertRemains(path, way);
      const [created = '', ...rest] = [...begins, ...words(way.records)];
      // A hub that is killed during "task new" writes the files at its next start.
      assert.deepEqual(records, [created, ...(spared === 0 ? ['written'] : []), ...rest]);
      assert.equal(kills, records.length - spared);
      // No model was called twice for one answer, and no gate ran twice.
      assert.equal(asked.length, way.answers.length);
      assert.equal(gates, way.gate?.filter(outcome => outcome !== undefined).length ?? 0);
    });
});

describe.concurrent('a hub that is killed before every record repeats each effect without harm:', () => {
  for (const [name, way] of paths)
    test.skipIf(!isLong)(name, limit, async () => {
      const { path } = await killAtEachRecord(name, 'before', 1);
      assertRemains(path, way);
    });
});
