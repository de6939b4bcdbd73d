import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { modelNamed, startOllama } from '../doubles/ollama.ts';
import { createModelCounts, durationBoundsMs } from '../../hub/models/model-counts.ts';
import { asking, kindOf, never, openModels } from './scene.ts';

const buckets = (...at: readonly number[]) =>
  Array.from({ length: durationBoundsMs.length + 1 }, (_, bucket) => at[bucket] ?? 0);
const nothing = { count: 0, totalMs: 0, buckets: buckets() };

describe('the calls of a model', () => {
  test('are counted, with their durations, and their tokens by caller', () => {
    const counts = createModelCounts();
    counts.waited('chat:latest', 200);
    counts.firstToken('chat:latest', 30);
    counts.firstToken('chat:latest', 50);
    counts.firstToken('chat:latest', 1e9);
    counts.succeeded('chat:latest', 7, 2, {});
    counts.succeeded('chat:latest', 1, 1, { kind: 'agent' });
    counts.succeeded('chat:latest', 2, 3, { kind: 'agent' });
    counts.succeeded('chat:latest');
    for (const kind of ['queue', 'queue', 'timeout'] as const) counts.failed('chat:latest', kind);
    const ofMinutes = buckets(2).with(-1, 1);
    assert.deepEqual(counts.all(), [
      {
        model: 'chat:latest',
        failures: { queue: 2, timeout: 1 },
        waits: { count: 1, totalMs: 200, buckets: buckets(0, 0, 1) },
        firstTokens: { count: 3, totalMs: 1e9 + 80, buckets: ofMinutes },
        callers: [
          { caller: 'prompt', succeeded: 1, promptTokens: 7, outputTokens: 2 },
          { caller: 'agent', succeeded: 2, promptTokens: 3, outputTokens: 4 },
          { caller: 'hub', succeeded: 1, promptTokens: 0, outputTokens: 0 },
        ],
      },
    ]);
  });

  test('beyond a hundred models are counted together', () => {
    const counts = createModelCounts();
    for (let model = 0; model < 102; model++) counts.succeeded(`m${model}`, 1);
    const [last, ...others] = counts.all().toReversed();
    assert.deepEqual(last, {
      model: '',
      failures: {},
      waits: nothing,
      firstTokens: nothing,
      callers: [{ caller: 'hub', succeeded: 2, promptTokens: 2, outputTokens: 0 }],
    });
    assert.equal(others.length, 100);
  });
});

test('completions, embeddings and failures are counted, with the breaker', async () => {
  await using ollama = await startOllama();
  ollama.add(modelNamed('other'));
  await using scene = openModels(ollama.url);
  await scene.models.complete(asking(), never);
  await scene.models.embed('nomic-embed-text', 'two words', never);
  ollama.fails('/api/chat', { kind: 'reset', afterLines: 0 });
  for (let call = 0; call < 3; call++)
    assert.equal(
      await kindOf(scene.models.complete(asking({ model: 'other' }), never)),
      'unreachable',
    );
  const { breaker, models, queues } = scene.models.metrics();
  assert.deepEqual([breaker, queues], ['open', []]);
  const [chat, embedder, other] = models;
  assert.deepEqual([chat?.model, chat?.firstTokens.count], ['llama3.2:3b', 1]);
  const [asked] = chat?.callers ?? [];
  assert.deepEqual([asked?.caller, asked?.succeeded], ['prompt', 1]);
  assert.ok(asked && asked.promptTokens > 0 && asked.outputTokens > 0);
  assert.deepEqual(embedder?.callers, [
    { caller: 'hub', succeeded: 1, promptTokens: 2, outputTokens: 0 },
  ]);
  assert.deepEqual(
    [other?.model, other?.failures, other?.waits.count, other?.callers],
    ['other:latest', { unreachable: 3 }, 3, []],
  );
});
