import assert from 'node:assert/strict';
import { test } from 'vitest';
import { HubError, type JsonObject } from '#core';
import { createManualClock } from '#helpers/clock';
import { createRecordingLog } from '#helpers/recording-log';
import { createHubRequests } from '../../../hub/routing/events/hub-requests.ts';
import { createServerLogs } from '../../../hub/routing/events/server-logs.ts';
import { createScriptedServer } from '../scripted-server.ts';

const asked = { id: '1', connection: undefined };

/** Creates a server whose requests the hub answers. */
function scene() {
  const { log, logged } = createRecordingLog();
  const logs = createServerLogs({ log, clock: createManualClock() });
  return {
    ...createScriptedServer({ name: 'own' }),
    logged,
    requests: createHubRequests('a request', logs),
  };
}

test('several requests of a server with the same id are all counted', async () => {
  const { server, requests } = scene();
  const { promise, resolve } = Promise.withResolvers<JsonObject>();
  const answered = Array.from({ length: 20 }, () => requests.answer(server, asked, () => promise));
  const more = requests.answer(server, asked, async () => ({ model: 'more' }));
  await assert.rejects(more, { code: 'HUB_INPUTS_FULL' });
  resolve({ model: 'm' });
  assert.equal((await Promise.all(answered)).length, 20);
});

test('a request is aborted when the connection ends on which it came', async () => {
  const { server, running, requests } = scene();
  const ended = new AbortController();
  const connection = { ...running.upstream, ended: ended.signal };
  const answered = requests.answer(
    server,
    { id: '1', connection },
    signal => new Promise((_resolve, reject) => signal.addEventListener('abort', reject)),
  );
  ended.abort();
  await assert.rejects(answered);
});

test('failures are logged in at most 50 lines a second', async () => {
  const { server, requests, logged } = scene();
  const failing = () => Promise.reject(new HubError('HUB_REQUEST_INVALID', 'no messages'));
  for (let times = 0; times < 100; times++)
    await assert.rejects(requests.answer(server, asked, failing));
  assert.equal(logged.length, 50);
});
