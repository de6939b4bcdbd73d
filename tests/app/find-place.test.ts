import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, test } from 'vitest';
import { createRecordingLog } from '#helpers/hub';
import { findPlace } from '../../hub/app/find-place.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'agenthub-place-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Finds the place of a hub, as at its start. Returns the runtime that it chose, and its log line. */
async function start(healthy: boolean, inContainer = false) {
  const { log, logged } = createRecordingLog();
  const docker = { probe: async () => ({ healthy, detail: 'the engine' }) };
  const place = await findPlace({ dataDir: 'data', inContainer }, { docker, folder, log });
  assert.equal(place.dataDir, resolve('data'));
  const [line, ...others] = logged;
  assert.deepEqual([line?.fields, others], [{ engine: 'the engine' }, []]);
  return { auto: place.auto, level: line?.level, message: line?.message ?? '' };
}

test('servers run in containers where an engine answers', async () => {
  const { auto, level } = await start(true);
  assert.deepEqual([auto, level], ['docker', 'info']);
});

test('servers run as processes where none has ever answered, with a warning', async () => {
  const { auto, level, message } = await start(false);
  assert.deepEqual([auto, level], ['process', 'warn']);
  assert.match(message, /without a sandbox/);
  assert.deepEqual(readdirSync(folder), [], 'the next start looks again');
  assert.equal((await start(true)).auto, 'docker');
});

test('servers that ran in containers wait for the engine, and the log says how to change that', async () => {
  await start(true);
  const { auto, level, message } = await start(false);
  assert.deepEqual([auto, level], ['docker', 'warn']);
  assert.ok(message.includes(`remove ${join(folder, 'place.json')}`), message);
  rmSync(join(folder, 'place.json'));
  assert.equal((await start(false)).auto, 'process');
});

test('a hub in a container runs no processes, and records no engine that did not answer', async () => {
  assert.equal((await start(false, true)).auto, 'docker');
  assert.equal((await start(false)).auto, 'process');
});
