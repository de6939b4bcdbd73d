import type { Models } from '#models';
import type { MetricFamily, Sample } from '#telemetry';

type ModelsMetrics = ReturnType<Models['metrics']>;
type Counts = ModelsMetrics['models'][number];

/** States of a circuit breaker as metric values. */
export const breakerNumbers: ReadonlyMap<unknown, number> = new Map([
  ['closed', 0],
  ['half_open', 1],
  ['open', 2],
]);

/**
 * Converts the statistics of the models to metrics. The number of model names is bounded: above the bound, the label
 * is empty.
 */
export function modelFamilies(metrics: ModelsMetrics): readonly MetricFamily[] {
  const { models, queues, breaker, boundsMs } = metrics;
  const named = new Set([...models, ...queues].map(({ model }) => model));
  const queued = (count: 'waiting' | 'active'): readonly Sample[] =>
    [...named].map(model => {
      const queue = queues.find(other => other.model === model);
      return { labels: { model }, value: queue?.[count] ?? 0 };
    });
  const calls = ({ model, callers, failures }: Counts): readonly Sample[] => {
    const ok = callers.reduce((sum, { succeeded }) => sum + succeeded, 0);
    const outcomes = Object.entries({ ok, ...failures });
    return outcomes.map(([outcome, value]) => ({ labels: { model, outcome }, value }));
  };
  const answers = ({ model, callers }: Counts): readonly Sample[] =>
    callers.map(({ caller, succeeded }) => ({ labels: { model, caller }, value: succeeded }));
  const tokens = ({ model, callers }: Counts): readonly Sample[] =>
    callers.flatMap(({ caller, promptTokens, outputTokens }) => [
      { labels: { model, kind: 'prompt', caller }, value: promptTokens },
      { labels: { model, kind: 'output', caller }, value: outputTokens },
    ]);
  const durations = (durations: 'waits' | 'firstTokens') =>
    models
      .filter(({ [durations]: { count } }) => count > 0)
      .map(({ model, [durations]: { buckets, totalMs } }) => ({
        labels: { model },
        bounds: boundsMs.map(bound => bound / 1000),
        counts: buckets,
        sum: totalMs / 1000,
      }));
  const state = breakerNumbers.get(breaker);
  return [
    counter(
      'agenthub_model_calls_total',
      'Completions and embeddings by model; the outcome is ok or the kind of the failure.',
      models.flatMap(calls),
    ),
    counter(
      'agenthub_model_answers_total',
      'Successful calls by model and by who asked: prompts of clients, agents, servers, or the hub.',
      models.flatMap(answers),
    ),
    gauge(
      'agenthub_model_queue_waiting',
      'Calls that wait in the hub until the server of the model can work on them.',
      queued('waiting'),
    ),
    gauge(
      'agenthub_model_calls_in_flight',
      'Calls that the server of the model works on.',
      queued('active'),
    ),
    {
      name: 'agenthub_model_queue_wait_seconds',
      help: 'Time that calls waited in the hub for their turn.',
      type: 'histogram',
      series: durations('waits'),
    },
    {
      name: 'agenthub_model_first_token_seconds',
      help: 'Time from the turn of a completion to its first token.',
      type: 'histogram',
      series: durations('firstTokens'),
    },
    counter(
      'agenthub_model_tokens_total',
      'Tokens of prompts and of output by who asked. Estimated in conversations if they are not reported.',
      models.flatMap(tokens),
    ),
    gauge(
      'agenthub_model_breaker_state',
      'State of the circuit breaker of Ollama: 0 closed; 1 half open, one call is tried; 2 open, calls are refused.',
      state === undefined ? [] : [{ labels: {}, value: state }],
    ),
  ];
}

export const gauge = (name: string, help: string, samples: readonly Sample[]) =>
  ({ name, help, type: 'gauge', samples }) as const;

export const counter = (name: string, help: string, samples: readonly Sample[]) =>
  ({ name, help, type: 'counter', samples }) as const;
