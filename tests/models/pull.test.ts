import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { until } from '../contracts/recorder.ts';
import { startOllama } from '../doubles/ollama.ts';
import { createGate, kindOf, never, openModels, openStill } from './scene.ts';
import type { PullProgress } from '../../hub/models/absence.ts';
import { createPull } from '../../hub/models/pull.ts';
import { linesOf, openScripted } from './scripted.ts';

describe('a pull', () => {
  test('reports its progress, and the model exists afterwards', async () => {
    await using ollama = await startOllama();
    await using scene = openStill(ollama.url);
    assert.equal(await scene.models.find('phi3:mini', never), undefined);
    const told: string[] = [];
    await scene.models.pull(
      'phi3:mini',
      ({ status, totalBytes, completedBytes }) =>
        void told.push(`${status.slice(0, 16)} ${completedBytes}/${totalBytes}`),
      never,
    );
    assert.equal(told[0], 'pulling manifest undefined/undefined');
    assert.ok(told.some(line => line.endsWith('1009696594/2019393189')));
    assert.equal(told.at(-1), 'success undefined/undefined');
    assert.equal((await scene.models.find('phi3:mini', never))?.name, 'phi3:mini');
  });

  test('is joined if it is in progress, and continues while a caller waits', async () => {
    await using ollama = await startOllama();
    await using scene = openModels(ollama.url);
    const held = Promise.withResolvers<void>();
    ollama.fails('/api/pull', { kind: 'slow', until: held.promise });
    const [first, second] = [new AbortController(), new AbortController()];
    const told: string[] = [];
    const given = kindOf(scene.models.pull('phi3:mini', () => {}, first.signal));
    const waited = scene.models.pull(
      'phi3:mini',
      ({ status }) => void told.push(status),
      second.signal,
    );
    await until(() => ollama.received('/api/pull').length === 1, 'the request');
    first.abort();
    assert.equal(await given, 'cancelled');
    held.resolve();
    await waited;
    assert.equal(ollama.received('/api/pull').length, 1);
    assert.equal(told.at(-1), 'success');
  });

  test('is aborted with its last caller', async () => {
    await using ollama = await startOllama();
    await using scene = openModels(ollama.url);
    ollama.fails('/api/pull', { kind: 'hang_mid_stream', afterLines: 2 }, 1);
    const controller = new AbortController();
    const both = [1, 2].map(
      async () => await kindOf(scene.models.pull('phi3:mini', () => {}, controller.signal)),
    );
    await until(() => ollama.received('/api/pull').length === 1, 'the request');
    controller.abort();
    assert.deepEqual(await Promise.all(both), ['cancelled', 'cancelled']);
    await until(() => ollama.received('/api/pull')[0]?.isAbandoned === true, 'a free Ollama');
    await scene.models.pull('phi3:mini', () => {}, never);
  });

  test('of an unknown model fails as missing, and one that stalls ends', async () => {
    await using ollama = await startOllama();
    await using scene = openStill(ollama.url);
    assert.equal(await kindOf(scene.models.pull('nothing', () => {}, never)), 'missing');
    ollama.fails('/api/pull', { kind: 'hang_mid_stream', afterLines: 2 }, 1);
    const told: string[] = [];
    const stalled = kindOf(
      scene.models.pull('phi3:mini', ({ status }) => void told.push(status), never),
    );
    await until(() => told.length === 2, 'progress');
    scene.clock.advance(120_000);
    assert.equal(await stalled, 'timeout');
    assert.equal(scene.breaker.snapshot().failures, 0);
  });

  test('that progresses may take any time', async () => {
    await using ollama = await startOllama();
    await using scene = openStill(ollama.url);
    const gate = createGate();
    ollama.fails('/api/pull', { kind: 'paced', before: gate.before });
    const goOn = () => {
      scene.clock.advance(119_000);
      gate.open();
    };
    await scene.models.pull('phi3:mini', goOn, never);
  });

  test('of a fifth model is refused at once', async () => {
    await using ollama = await startOllama();
    await using scene = openModels(ollama.url);
    ollama.fails('/api/pull', { kind: 'hang' });
    const controller = new AbortController();
    const four = ['a', 'b', 'c', 'd'].map(
      async name => await kindOf(scene.models.pull(name, () => {}, controller.signal)),
    );
    await until(() => ollama.received('/api/pull').length === 4, 'four pulls');
    assert.equal(await kindOf(scene.models.pull('e', () => {}, never)), 'busy');
    controller.abort();
    assert.deepEqual(await Promise.all(four), Array(4).fill('cancelled'));
  });
});

const unnamed = { digest: undefined, totalBytes: undefined, completedBytes: undefined };

describe('the progress of a pull', () => {
  test('is reported to those who join it too, starting with the latest', async () => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const write = (line: object) => writer.write(Buffer.from(`${JSON.stringify(line)}\n`));
    const pull = createPull(openScripted(() => new Response(readable)));
    const told: (readonly [string, PullProgress])[] = [];
    const { promise: begun, resolve } = Promise.withResolvers<void>();
    const first = pull('m', () => resolve(), never);
    void write({ status: 'pulling', digest: 'd', total: 5, completed: 3 });
    await begun;
    const second = pull('library/m:latest', now => told.push(['second', now]), never);
    void write({ status: 'success' });
    await Promise.all([first, second]);
    assert.deepEqual(told, [
      ['second', { status: 'pulling', digest: 'd', totalBytes: 5, completedBytes: 3 }],
      ['second', { status: 'success', ...unnamed }],
    ]);
  });

  test('of an unknown form is empty, and that of an earlier pull is not repeated', async () => {
    const lines = [{ status: 1, digest: 2, total: '3', completed: null }, { status: 'success' }];
    const pull = createPull(openScripted(() => linesOf(...lines)));
    for (const _ of [1, 2]) {
      const told: PullProgress[] = [];
      await pull('m', now => told.push(now), never);
      assert.deepEqual(told, [
        { status: '', ...unnamed },
        { status: 'success', ...unnamed },
      ]);
    }
  });
});

test('a pull that is cancelled before it begins sends nothing', async () => {
  const scene = openScripted(() => undefined);
  assert.equal(await kindOf(createPull(scene)('m', () => {}, AbortSignal.abort())), 'cancelled');
  assert.deepEqual(scene.sent, []);
});
