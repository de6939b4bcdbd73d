import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createModels } from '#models';
import { type MetricFamily, exposition } from '#telemetry';
import { modelFamilies } from '../../hub/http/model-metrics.ts';
import { busy } from '../doubles/ollama.ts';
import { openScene } from '../enhance/enhancer-scene.ts';
import { parseExposition } from '../telemetry/exposition-text.ts';

type ModelsMetrics = ReturnType<ReturnType<typeof createModels>['metrics']>;

const none = { count: 0, totalMs: 0, buckets: [0, 0, 0] } as const;
const chat = {
  model: 'chat:1',
  failures: { timeout: 2, busy: 1 },
  waits: { count: 6, totalMs: 1_500, buckets: [4, 1, 1] },
  firstTokens: { count: 4, totalMs: 2_250, buckets: [0, 4, 0] },
  callers: [
    { caller: 'prompt', succeeded: 2, promptTokens: 100, outputTokens: 20 },
    { caller: 'agent', succeeded: 1, promptTokens: 7, outputTokens: 3 },
  ],
} as const;
const embedder = { ...chat, model: 'embed:1', failures: {}, waits: none, firstTokens: none };

const present: MetricFamily = {
  name: 'present',
  help: 'So that there is a line.',
  type: 'gauge',
  samples: [{ labels: {}, value: 1 }],
};

/** Returns the samples by name, as Prometheus reads them. */
function read(metrics: Partial<ModelsMetrics>) {
  const all = { breaker: undefined, boundsMs: [100, 1_000], models: [], queues: [], ...metrics };
  const families = parseExposition(exposition([...modelFamilies(all), present]));
  return (name: string) =>
    [...(families.get(`agenthub_model_${name}`)?.samples ?? [])].map(
      ([sample, value]) => [sample.replace(`agenthub_model_${name}`, ''), value] as const,
    );
}

describe('the metrics of models', () => {
  test('count calls by outcome and tokens by kind', () => {
    const samples = read({ models: [chat, embedder] });
    assert.deepEqual(samples('calls_total'), [
      ['{model="chat:1",outcome="ok"}', 3],
      ['{model="chat:1",outcome="timeout"}', 2],
      ['{model="chat:1",outcome="busy"}', 1],
      ['{model="embed:1",outcome="ok"}', 3],
    ]);
    assert.deepEqual(samples('tokens_total').slice(0, 4), [
      ['{model="chat:1",kind="prompt",caller="prompt"}', 100],
      ['{model="chat:1",kind="output",caller="prompt"}', 20],
      ['{model="chat:1",kind="prompt",caller="agent"}', 7],
      ['{model="chat:1",kind="output",caller="agent"}', 3],
    ]);
    assert.deepEqual(samples('answers_total').slice(0, 2), [
      ['{model="chat:1",caller="prompt"}', 2],
      ['{model="chat:1",caller="agent"}', 1],
    ]);
  });

  test('have the queue waits and times to the first token in seconds, if there are any', () => {
    const samples = read({ models: [chat, embedder] });
    assert.deepEqual(samples('queue_wait_seconds'), [
      ['_bucket{model="chat:1",le="0.1"}', 4],
      ['_bucket{model="chat:1",le="1"}', 5],
      ['_bucket{model="chat:1",le="+Inf"}', 6],
      ['_sum{model="chat:1"}', 1.5],
      ['_count{model="chat:1"}', 6],
    ]);
    assert.deepEqual(samples('first_token_seconds').at(3), ['_sum{model="chat:1"}', 2.25]);
  });

  test('have the current queue of each model, also of one whose first call waits', () => {
    const queues = [{ model: 'new:1', active: 1, waiting: 2 }];
    const samples = read({ models: [chat], queues });
    const expected = (ofNew: number) => [
      ['{model="chat:1"}', 0],
      ['{model="new:1"}', ofNew],
    ];
    assert.deepEqual(samples('queue_waiting'), expected(2));
    assert.deepEqual(samples('calls_in_flight'), expected(1));
  });

  test.each([
    ['closed', [['{}', 0]]],
    ['half_open', [['{}', 1]]],
    ['open', [['{}', 2]]],
    [undefined, []],
  ] as const)('show a breaker that is %s as %j', (breaker, expected) => {
    assert.deepEqual(read({ breaker })('breaker_state'), expected);
  });

  test('have the outcomes of prompts', async () => {
    await using scene = await openScene();
    await scene.enhance('one');
    scene.ollama.fails('/api/chat', busy);
    await scene.enhance('two');
    const samples = read(scene.models.metrics());
    assert.deepEqual(samples('calls_total'), [
      ['{model="llama3.2:3b",outcome="ok"}', 1],
      ['{model="llama3.2:3b",outcome="busy"}', 1],
    ]);
    assert.equal(samples('first_token_seconds').at(-1)?.[1], 1);
    assert.ok((samples('tokens_total')[0]?.[1] ?? 0) > 0);
    assert.deepEqual(samples('queue_waiting'), [['{model="llama3.2:3b"}', 0]]);
    assert.deepEqual(samples('breaker_state'), [['{}', 0]]);
  });
});
