import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { memoryInUse } from '#helpers/memory';
import { never } from '#helpers/never';
import { ModelFailure } from '#models';
import { createModelCounts } from '../../hub/models/model-counts.ts';
import { type ModelQueueOptions, createModelQueue } from '../../hub/models/model-queue.ts';
import { failureOf } from './scene.ts';

function openQueue(options: ModelQueueOptions = {}) {
  const clock = createManualClock();
  const counts = createModelCounts();
  const life = new AbortController();
  const needs = { clock, counts, usualMs: () => 2_000, life: life.signal };
  const queue = createModelQueue(options, needs);
  /** Calls that had their turn, in order. */
  const turns: string[] = [];
  const places = new Map<string, ReturnType<typeof queue.join>>();
  const failures: Promise<ModelFailure>[] = [];
  /** Adds the call `{client}{number}` to the queue of a model. */
  const join = (call: string, model = 'chat', signal = never) => {
    const isEmbedding = model === 'embed';
    const place = queue.join(model, { client: call.slice(0, 1), isEmbedding, endsMs: 30_000 });
    places.set(call, place);
    const turn = place.turn(signal).then(() => void turns.push(call));
    turn.catch(() => failures.push(failureOf(turn)));
    return turn;
  };
  /** Ends a call, and lets the next call have its turn. */
  const end = async (call: string) => {
    places.get(call)?.[Symbol.dispose]();
    await nextTurn();
  };
  return { clock, counts, life, queue, turns, places, failures, join, end };
}

describe('the calls of a model', () => {
  test('run one after the other, and clients take turns', async () => {
    const { queue, turns, join, end } = openQueue();
    for (const call of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) void join(call);
    await nextTurn();
    assert.deepEqual(queue.snapshot(), [{ model: 'chat', active: 1, waiting: 5 }]);
    for (const call of ['a1', 'b1', 'c1', 'a2', 'b2']) await end(call);
    assert.deepEqual(turns, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
    await end('a3');
    assert.deepEqual(queue.snapshot(), []);
  });

  test("run as many at once as Ollama's parallel setting, and embeddings at least four", async () => {
    const { turns, join } = openQueue({ parallel: 2 });
    for (const call of ['a1', 'a2', 'a3']) void join(call);
    await nextTurn();
    assert.deepEqual(turns, ['a1', 'a2']);
    const single = openQueue();
    for (const call of ['a1', 'a2', 'a3', 'a4', 'a5']) void single.join(call, 'embed');
    await nextTurn();
    assert.equal(single.turns.length, 4);
  });

  test('report how long they waited, and for how many others', async () => {
    const { clock, counts, places, join, end } = openQueue();
    for (const call of ['a1', 'a2', 'a3']) void join(call);
    assert.equal(places.get('a1')?.waited(), undefined);
    assert.equal(places.get('a1')?.isWaiting, false);
    clock.advance(1_500);
    assert.equal(places.get('a2')?.waited(), 'it waited 1.5 s for 1 prompt before it');
    await end('a1');
    clock.advance(1_000);
    await end('a2');
    clock.advance(9_000);
    assert.equal(places.get('a3')?.waited(), 'it waited 2.5 s for 2 prompts before it');
    const { count, totalMs } = counts.all()[0]?.waits ?? {};
    assert.deepEqual([count, totalMs], [3, 4_000]);
  });

  test('that run at once have not waited, however short their time is', async () => {
    const { clock, places, turns, join } = openQueue({ parallel: 2 });
    clock.advance(29_500);
    for (const call of ['a1', 'a2']) void join(call);
    await nextTurn();
    assert.deepEqual(turns, ['a1', 'a2']);
    assert.equal(places.get('a2')?.waited(), undefined);
  });

  test('report that they waited for the model to be loaded', async () => {
    const { clock, queue, places, join, end } = openQueue();
    const load = queue.join('chat', { client: 'hub', isLoad: true, endsMs: 290_000 });
    for (const call of ['a1', 'a2']) void join(call);
    clock.advance(1_500);
    const waited = 'it waited 1.5 s for the model to be loaded';
    assert.equal(places.get('a1')?.waited(), waited);
    load[Symbol.dispose]();
    await end('a1');
    assert.equal(places.get('a1')?.waited(), waited);
    assert.equal(places.get('a2')?.waited(), `${waited} and for 1 prompt before it`);
    void join('a3');
    clock.advance(1_500);
    assert.equal(places.get('a3')?.waited(), 'it waited 1.5 s for 1 prompt before it');
  });

  test('that are aborted free their place at once', async () => {
    const { queue, turns, failures, join, end } = openQueue();
    const gone = new AbortController();
    void join('a1');
    const given = join('a2', 'chat', gone.signal);
    void join('a3');
    gone.abort(new ModelFailure('cancelled', 'gone'));
    await assert.rejects(given, { message: 'gone' });
    await end('a2');
    assert.deepEqual(queue.snapshot(), [{ model: 'chat', active: 1, waiting: 1 }]);
    await end('a1');
    await end('a1');
    assert.deepEqual(turns, ['a1', 'a3']);
    assert.equal(failures.length, 1);
  });

  test('that have waited too long to finish in time are not run, and delay no others', async () => {
    const { clock, places, failures, turns, join, end } = openQueue();
    for (const call of ['a1', 'a2', 'b1']) void join(call);
    clock.advance(29_000);
    await end('a1');
    const reasons = (await Promise.all(failures)).map(({ kind, message }) => [kind, message]);
    const why = 'it waited 29 s for 1 prompt before it, and the 1 s left were too short';
    assert.deepEqual(reasons, [
      ['queue', why],
      ['queue', why],
    ]);
    clock.advance(6_000);
    void join('c1');
    await nextTurn();
    assert.deepEqual(turns, ['a1', 'c1'], 'a call that finds a free model is tried in any case');
    assert.equal(places.get('c1')?.waited(), undefined);
  });

  test('of a full queue are dropped for those of clients with fewer, or refused', async () => {
    const { turns, failures, join, end } = openQueue({ maxWaiting: 2 });
    for (const call of ['a1', 'a2', 'a3', 'b1']) void join(call);
    const message = 'chat has a full queue: 2 prompts wait for it. Try again later';
    assert.throws(() => join('b2'), { kind: 'queue', message });
    await nextTurn();
    const [refused] = await Promise.all(failures);
    assert.deepEqual([refused?.kind, refused?.message], ['queue', message]);
    for (const call of ['a1', 'b1', 'a2']) await end(call);
    assert.deepEqual(turns, ['a1', 'b1', 'a2']);
  });

  test('that wait when the hub stops are cancelled', async () => {
    const { life, failures, join } = openQueue();
    for (const call of ['a1', 'a2', 'a3']) void join(call);
    life.abort(new ModelFailure('cancelled', 'the hub stops'));
    await nextTurn();
    const messages = (await Promise.all(failures)).map(({ message }) => message);
    assert.deepEqual(messages, ['the hub stops', 'the hub stops']);
  });

  test('are fewer at once after Ollama reported a full queue, and more again after successes', async () => {
    const { queue, turns, join, end } = openQueue({ parallel: 3 });
    for (let call = 1; call <= 9; call++) void join(`a${call}`);
    queue.lower('chat');
    for (const call of ['a1', 'a2']) await end(call);
    assert.equal(turns.length, 4);
    queue.lower('chat');
    for (const call of ['a3', 'a4']) await end(call);
    assert.equal(turns.length, 5);
    for (let success = 1; success <= 20; success++) queue.succeeded('chat');
    await end('a5');
    assert.equal(turns.length, 7);
  });
});

describe('calls of several models', () => {
  test('run concurrently until Ollama was seen to hold only one model, and then separately', async () => {
    const { queue, turns, places, join, end } = openQueue();
    void join('a1', 'one');
    void join('a2', 'two');
    await nextTurn();
    assert.deepEqual(turns, ['a1', 'a2']);
    assert.deepEqual(
      ['a1', 'a2'].map(call => places.get(call)?.isSwitch),
      [false, true],
    );
    queue.loaded(['two']);
    await end('a1');
    void join('a3', 'one');
    await nextTurn();
    assert.equal(turns.length, 2);
    queue.loaded(['one', 'two']);
    await nextTurn();
    assert.deepEqual(turns, ['a1', 'a2', 'a3']);
    assert.equal(places.get('a3')?.isSwitch, false);
  });

  test('are grouped by model if Ollama holds only one, for ten seconds at most', async () => {
    const { clock, queue, turns, places, join, end } = openQueue();
    queue.loaded(['one']);
    for (const call of ['a1', 'a3', 'a5', 'a7', 'a9']) void join(call, 'one');
    for (const call of ['b2', 'b4', 'b6']) void join(call, 'two');
    void join('c8', 'three');
    for (const call of ['a1', 'a3', 'a5', 'b2', 'b4', 'b6']) {
      await nextTurn();
      clock.advance(4_000);
      await end(call);
    }
    await end('c8');
    assert.deepEqual(turns, ['a1', 'a3', 'a5', 'b2', 'b4', 'b6', 'c8', 'a7']);
    assert.equal(places.get('b4')?.isSwitch, false);
    assert.equal(places.get('a9')?.waited(), 'it waited 24 s for 8 prompts before it');
  });
});

test('models that are no longer called use no memory', async () => {
  const { queue } = openQueue();
  const call = (model: string) => queue.join(model, { client: 'a', endsMs: 30_000 });
  for (let index = 0; index < 1_000; index++) call(`early-${index}`)[Symbol.dispose]();
  const held = call('held');
  const before = await memoryInUse();
  for (let index = 0; index < 10_000; index++) call(`later-${index}`)[Symbol.dispose]();
  const grown = (await memoryInUse()) - before;
  assert.ok(grown < 1_000_000, `${grown} bytes more`);
  assert.deepEqual(queue.snapshot(), [{ model: 'held', active: 1, waiting: 0 }]);
  held[Symbol.dispose]();
});
