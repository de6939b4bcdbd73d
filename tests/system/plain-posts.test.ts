import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'vitest';
import { startHub, states, until } from '#helpers/hub-process';
import { send } from '../transports/raw.ts';

const fixture = (name: string) => ({
  command: process.execPath,
  args: [join(import.meta.dirname, '../fixtures/servers', name)],
  runtime: 'process',
});

type Answered = { readonly status: number; readonly code: unknown; readonly ms: number };

/** Calls a tool without a session (spec 1.7). */
async function post(
  url: string,
  server: string,
  name = 'echo',
  given: object = { text: 'x' },
): Promise<Answered> {
  const since = performance.now();
  const response = await send(`${url}/mcp/${server}/tools/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: { name, arguments: given },
  });
  const { error } = JSON.parse(await response.body());
  return { status: response.status, code: error?.data?.code, ms: performance.now() - since };
}

test('a POST without a session waits in the queue of a server that starts, as far as that is long', async () => {
  await using hub = await startHub({
    config: {
      servers: {
        slow: {
          ...fixture('never-ready.mjs'),
          start_timeout: 3,
          max_restarts: 0,
          max_concurrent_calls: 1,
          max_queued_calls: 1,
        },
      },
    },
  });
  const answers = await Promise.all([1, 2, 3, 4].map(() => post(hub.url, 'slow')));
  const busy = answers.filter(({ code }) => code === 'HUB_SERVER_BUSY');
  assert.equal(busy.length, 2);
  for (const { status, ms } of busy) assert.ok(status === 503 && ms < 1_000, `${status} ${ms}`);
  for (const { status } of answers) assert.ok(status >= 500);
});

test('a POST without a session starts no server whose breaker is open, and is the trial when that is due', async () => {
  await using hub = await startHub({
    config: { servers: { echo: { ...fixture('echo.mjs'), timeout: 1, max_restarts: 0 } } },
    env: { CB_FAILURE_THRESHOLD: '1', CB_RECOVERY_TIMEOUT: '2' },
  });
  const isRunning = async () => (await states(hub))['echo'] === 'running';
  assert.equal((await post(hub.url, 'echo')).status, 200);
  assert.equal((await post(hub.url, 'echo', 'crash', { code: 1 })).code, 'HUB_SERVER_DOWN');
  const refused = await post(hub.url, 'echo');
  assert.deepEqual([refused.status, refused.code], [503, 'HUB_BREAKER_OPEN']);
  assert.equal(await isRunning(), false);

  const answer = await until(
    () => post(hub.url, 'echo'),
    ({ code }) => code !== 'HUB_BREAKER_OPEN',
    10_000,
  );
  assert.equal(answer.status, 200);
  assert.equal(await isRunning(), true);
});
