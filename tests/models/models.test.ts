import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { never } from '#helpers/never';
import { createRecordingLog } from '#helpers/recording-log';
import { createModels } from '#models';
import { asking, kindOf } from './scene.ts';

const noFetch: typeof fetch = () => assert.fail('nothing is sent');
const permit = { kind: 'permit', succeeded() {}, failed() {}, cancelled() {} } as const;

function openModels(url: string | undefined, refusedMs?: number) {
  const clock = createManualClock();
  const { log, logged } = createRecordingLog();
  const until = refusedMs === undefined ? undefined : clock.now() + refusedMs;
  const breaker = {
    claim: () =>
      refusedMs === undefined
        ? permit
        : ({ kind: 'refused', retryAfterMs: refusedMs, why: 'reset' } as const),
    reset: () => {},
    snapshot: () =>
      ({ state: until === undefined ? 'closed' : 'open', until, why: undefined }) as const,
  };
  return { models: createModels({ url }, { clock, log, fetch: noFetch, breaker }), logged };
}

describe('without OLLAMA_HOST', () => {
  test('every call is unreachable, and the status is off', async () => {
    const { models, logged } = openModels(undefined);
    await models.start(never);
    assert.deepEqual(models.status, { kind: 'off' });
    const calls = [
      models.list(never),
      models.find('m', never),
      models.complete(asking(), never),
      models.embed('m', 'text', never),
      models.pull('m', () => {}, never),
    ];
    assert.deepEqual(await Promise.all(calls.map(kindOf)), Array(5).fill('unreachable'));
    assert.equal(models.known('m'), undefined);
    models.warmUp('m');
    await models.stop();
    assert.deepEqual(logged, []);
  });
});

describe('a failure', () => {
  test('is logged at the level debug, with its model', async () => {
    const { models, logged } = openModels('http://127.0.0.1:1', 1_500);
    assert.equal(await kindOf(models.complete(asking(), never)), 'breaker_open');
    const error = 'Ollama failed too often and is tried again in 2 s; the last time: reset';
    assert.deepEqual(logged, [
      {
        level: 'debug',
        message: 'a model failed',
        fields: { model: 'llama3.2:3b', kind: 'breaker_open', error },
      },
    ]);
  });

  test('of a cancelled call is its cancellation', async () => {
    const { models } = openModels('http://127.0.0.1:1', 1_500);
    const gone = AbortSignal.abort(new Error('gone'));
    assert.equal(await kindOf(models.complete(asking(), gone)), 'cancelled');
  });
});

test('an open breaker does not change the unknown status of Ollama', () => {
  assert.deepEqual(openModels('http://127.0.0.1:1', 1_500).models.status, { kind: 'unknown' });
});
