import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { until } from '../contracts/recorder.ts';
import { startOllama } from '../doubles/ollama.ts';
import { asking, kindOf, never, openModels, openStill } from './scene.ts';
import { ModelFailure } from '#models';
import { createManualClock } from '#helpers/clock';
import { createRecordingLog } from '#helpers/recording-log';
import { createOllamaHealth } from '../../hub/models/ollama-health.ts';

describe('the status', () => {
  test('is unknown before the start, and known soon after', async () => {
    await using ollama = await startOllama();
    await using scene = openStill(ollama.url);
    assert.deepEqual(scene.models.status, { kind: 'unknown' });
    await scene.models.start(never);
    await until(() => scene.models.status.kind === 'up', 'a sign of life');
    assert.deepEqual(scene.models.status, {
      kind: 'up',
      since: scene.clock.now(),
      version: '0.40.1',
      latencyMs: 0,
    });
    assert.deepEqual(
      ollama.received().map(({ path }) => path),
      ['/api/version'],
    );
  });

  test('follows an Ollama that stops and starts, without any call', async () => {
    await using ollama = await startOllama();
    await using scene = openStill(ollama.url);
    await scene.models.start(never);
    await until(() => scene.models.status.kind === 'up', 'a sign of life');
    await ollama.stop();
    await until(() => scene.clock.waiting === 1, 'the next look to be due');
    scene.clock.advance(30_000);
    await until(() => scene.models.status.kind === 'down', 'none');
    const isRefused = () => {
      const { status } = scene.models;
      assert.ok(status.kind === 'down' && status.failure === 'unreachable');
      return /ECONNREFUSED/.test(status.error);
    };
    // The first request may have used a connection that was just closed; the next request cannot.
    if (!isRefused()) {
      await until(() => scene.clock.waiting === 1, 'the next look to be due');
      scene.clock.advance(2_000);
      await until(isRefused, 'a refusal');
    }
    await ollama.start();
    await until(() => scene.clock.waiting === 1, 'the next look to be due');
    // The hub checks Ollama more often while it is down.
    scene.clock.advance(2_000);
    await until(() => scene.models.status.kind === 'up', 'a sign of life');
    await scene.models.stop();
    assert.equal(scene.clock.waiting, 0);
  });

  test('is down when a call cannot connect, and when another program answers', async () => {
    await using ollama = await startOllama();
    await using scene = openModels(ollama.url);
    ollama.fails('/api/version', { kind: 'html', status: 200 });
    assert.equal(await kindOf(scene.models.list(never)), 'malformed');
    const { status } = scene.models;
    assert.ok(status.kind === 'down' && status.failure === 'malformed');
    ollama.heals();
    ollama.fails('/api/version', { kind: 'html', status: 502 });
    assert.equal(await kindOf(scene.models.list(never)), 'unreachable');
    ollama.heals();
    await scene.models.list(never);
    assert.equal(scene.models.status.kind, 'up');
    ollama.fails('/api/chat', { kind: 'reset', afterLines: 0 });
    assert.equal(await kindOf(scene.models.complete(asking(), never)), 'unreachable');
    assert.equal(scene.models.status.kind, 'down');
  });

  test('is requested once for many concurrent calls', async () => {
    await using ollama = await startOllama();
    await using scene = openModels(ollama.url);
    const calls = Array.from({ length: 100 }, () => scene.models.complete(asking(), never));
    await Promise.all(calls);
    assert.equal(ollama.received('/api/version').length, 1);
    assert.equal(ollama.received('/api/chat').length, 100);
  });
});

test('the health is down from the first failure, and logged once, with the latest reason', () => {
  const clock = createManualClock();
  const { log, logged } = createRecordingLog();
  const health = createOllamaHealth('http://ollama.test', { clock, log, alive() {} });
  for (const kind of ['busy', 'timeout', 'malformed'] as const)
    health.failed(new ModelFailure(kind, kind));
  assert.deepEqual(health.status, { kind: 'unknown' });
  const since = clock.now();
  health.failed(new ModelFailure('unreachable', 'one'));
  clock.advance(1_000);
  health.failed(new ModelFailure('unreachable', 'two'));
  assert.deepEqual(health.status, { kind: 'down', since, failure: 'unreachable', error: 'two' });
  assert.deepEqual(
    logged.map(({ level, fields }) => [level, fields]),
    [['warn', { url: 'http://ollama.test', kind: 'unreachable', error: 'one' }]],
  );
});

test('an Ollama that responded within five seconds is not probed', async () => {
  await using ollama = await startOllama();
  const clock = createManualClock();
  const { log } = createRecordingLog();
  const health = createOllamaHealth(ollama.url, { clock, log, alive() {} });
  const probes = () => ollama.received('/api/version').length;
  health.heard();
  clock.advance(4_999);
  await health.requireAlive(never);
  assert.equal(probes(), 0);
  clock.advance(1);
  await health.requireAlive(never);
  assert.equal(probes(), 1);
  for (const kind of ['busy', 'missing', 'timeout', 'malformed'] as const) {
    health.failed(new ModelFailure(kind, kind));
    await health.requireAlive(never);
  }
  assert.equal(probes(), 3);
});
