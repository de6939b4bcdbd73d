import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { modelNamed, startOllama } from '../doubles/ollama.ts';
import { createModelCounts } from '../../hub/models/model-counts.ts';
import { asking, kindOf, never, openModels } from './scene.ts';

const none = { waits: { count: 0, totalMs: 0 }, firstTokens: { count: 0, totalMs: 0 } };
const noTokens = { promptTokens: 0, outputTokens: 0 };

describe('the calls of a model', () => {
  test('are counted, with their durations and tokens', () => {
    const counts = createModelCounts();
    counts.waited('chat:latest', 200);
    counts.firstToken('chat:latest', 30);
    counts.firstToken('chat:latest', 20);
    counts.succeeded('chat:latest', 7, 2);
    counts.succeeded('chat:latest');
    for (const kind of ['queue', 'queue', 'timeout'] as const) counts.failed('chat:latest', kind);
    assert.deepEqual(counts.all(), [
      {
        model: 'chat:latest',
        succeeded: 2,
        failures: { queue: 2, timeout: 1 },
        waits: { count: 1, totalMs: 200 },
        firstTokens: { count: 2, totalMs: 50 },
        promptTokens: 7,
        outputTokens: 2,
      },
    ]);
  });

  test('of more than a hundred models are counted together', () => {
    const counts = createModelCounts();
    for (let model = 0; model < 102; model++) counts.succeeded(`m${model}`, 1);
    const [last, ...others] = counts.all().toReversed();
    assert.deepEqual(last, {
      model: '',
      succeeded: 2,
      failures: {},
      ...none,
      promptTokens: 2,
      outputTokens: 0,
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
  assert.deepEqual([chat?.model, chat?.succeeded, chat?.firstTokens.count], ['llama3.2:3b', 1, 1]);
  assert.ok(chat && chat.promptTokens > 0 && chat.outputTokens > 0);
  assert.deepEqual([embedder?.succeeded, embedder?.promptTokens], [1, 2]);
  const failures = { unreachable: 3 };
  const waits = { count: 3, totalMs: other?.waits.totalMs };
  const rest = { ...none, ...noTokens, waits };
  assert.deepEqual(other, { model: 'other:latest', succeeded: 0, failures, ...rest });
});
