import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { createRecordingLog } from '#helpers/recording-log';
import { listeningServices } from '../../hub/app/listening.ts';

const url = 'http://localhost:9090';

/** Starts the services on this data folder. `stop` stops them. */
async function startIn(dataFolder: string) {
  const { log, logged } = createRecordingLog();
  const clock = createManualClock();
  const http = {
    name: 'http',
    url,
    sockets: ['127.0.0.1:9090'],
    loads: 0,
    start: async () => {},
    stop: async () => {},
    load: async () => void http.loads++,
  };
  const services = listeningServices(http, dataFolder, { clock, log });
  const { signal } = new AbortController();
  for (const service of services) await service.start(signal);
  return { http, clock, logged, stop: () => Promise.all(services.map(one => one.stop())) };
}

test('the address is written, and the routes are loaded soon after', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-listening-'));
  const { http, clock, logged, stop } = await startIn(folder);
  const record: unknown = JSON.parse(await readFile(join(folder, 'hub-running.json'), 'utf8'));
  assert.deepEqual(record, { url, sockets: ['127.0.0.1:9090'], pid: process.pid });
  assert.equal(http.loads, 0);
  clock.advance(1_000);
  assert.equal(http.loads, 1);
  assert.deepEqual(logged, []);
  await stop();
  await rm(folder, { recursive: true });
});

test('the hub starts where its address cannot be written, and says how commands find it', async () => {
  const { logged, stop } = await startIn(join(tmpdir(), 'agenthub-listening-absent'));
  const [{ level, message, fields } = assert.fail('nothing was logged')] = logged;
  assert.equal(level, 'warn');
  assert.match(message, /commands find it only with --url http:\/\/localhost:9090$/);
  assert.match(JSON.stringify(fields), /ENOENT/);
  await stop();
});
