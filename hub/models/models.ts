import { type Clock, type Log, type Service, messageOf } from '#core';
import { type ModelBreaker, createOllamaCaller, whyRefused } from './ollama-call.ts';
import { type Absence, type PullProgress, createAbsences } from './absence.ts';
import type { ChatAnswer } from './chat/chat-types.ts';
import { type OllamaChatRequest, chatOnOllama } from './chat/ollama-chat.ts';
import { type CompletionRequest, type ModelAnswer, complete } from './complete.ts';
import { type Embedding, embed } from './embed.ts';
import { ModelFailure, failureOfAbort } from './failure.ts';
import { type ModelsStatus, createOllamaHealth } from './ollama-health.ts';
import { type ModelInfo, createModelList } from './model-list.ts';
import { fullName } from './model-name.ts';
import { createPull } from './pull.ts';
import { type ModelCounts, createModelCounts, durationBoundsMs } from './model-counts.ts';
import { type ModelCaller, type QueueLength, createModelQueue } from './model-queue.ts';
import { createPaces } from './pace.ts';
import { createWarmUps } from './warm-up.ts';

/** Models of the local Ollama. All methods that return a promise reject with ModelFailure. */
export interface Models extends Service {
  readonly status: ModelsStatus;
  /** Lists the models in Ollama. The list may be 30 s old, but Ollama is probed at each call. */
  list(signal: AbortSignal): Promise<readonly ModelInfo[]>;
  /** Finds a model by name: `llama3.2:3b`, or `x`, which means `x:latest`. */
  find(name: string, signal: AbortSignal, caller?: ModelCaller): Promise<ModelInfo | undefined>;
  /** Like `find`, but from the cache, without a request. */
  known(name: string): ModelInfo | undefined;
  /** Requests a completion. Fails if the answer is empty, cut off, or has only thoughts. */
  complete(request: CompletionRequest, signal: AbortSignal): Promise<ModelAnswer>;
  /** Chats, with tools. An answer that reaches its token limit is not a failure. */
  chat(request: OllamaChatRequest, signal: AbortSignal): Promise<ChatAnswer>;
  /** Embeds a text within 10 s. A text that exceeds the context is a failure; it is never cut. */
  embed(model: string, text: string, signal: AbortSignal): Promise<Embedding>;
  /** Pulls a model, or joins a running pull. If cancelled, Ollama keeps the data transferred so far. */
  pull(
    model: string,
    progress: (progress: PullProgress) => void,
    signal: AbortSignal,
  ): Promise<void>;
  /** Replaces the list of models that the hub is going to pull. Messages about missing models mention them. */
  planPulls(models: readonly string[]): void;
  /** Returns how to get a missing model: pull it, or wait until the hub has pulled it. */
  absence(model: string): Absence;
  /** Loads a model in the background with the options that later calls will have. Never throws. */
  warmUp(model: string, options?: CompletionRequest['options']): void;
  /** Returns a snapshot of the calls, the queues and the breaker. Sends nothing to Ollama. */
  metrics(): ModelsMetrics;
}

/** Measurements of the models of one Ollama, for /metrics: totals since the hub started, and the current queues. */
type ModelsMetrics = {
  /** State of the circuit breaker; undefined without OLLAMA_HOST. */
  readonly breaker: 'closed' | 'open' | 'half_open' | undefined;
  /** Upper bounds of the buckets of durations, in ms. */
  readonly boundsMs: readonly number[];
  /** Counts of each model that was called since the hub started. */
  readonly models: readonly ModelCounts[];
  /** Queues of the models that have active or waiting calls. */
  readonly queues: readonly QueueLength[];
};

type ModelsOptions = {
  /** Base URL of Ollama. If undefined, all calls fail as `unreachable`. */
  readonly url: string | undefined;
  /** OLLAMA_NUM_PARALLEL: number of calls of one model that Ollama processes concurrently; 1 by default. */
  readonly parallel?: number | undefined;
};

type ModelsNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  readonly fetch: typeof globalThis.fetch;
  readonly breaker: ModelBreaker;
  /** Counts and queues of models elsewhere, which `metrics` adds. */
  readonly others?: {
    readonly counts: ReturnType<typeof createModelCounts>;
    readonly queues: () => readonly QueueLength[];
  };
};

/** Creates the models of one Ollama. Sends nothing before `start` or a call. */
export function createModels(options: ModelsOptions, needs: ModelsNeeds): Models {
  const { url, parallel } = options;
  const { breaker, clock, log, others } = needs;
  const counts = others?.counts ?? createModelCounts();
  const queuesOfOthers = () => others?.queues() ?? [];
  const measured = () => ({ boundsMs: durationBoundsMs, models: counts.all() });
  if (url === undefined)
    return {
      ...noModels,
      metrics: () => ({ ...measured(), breaker: undefined, queues: queuesOfOthers() }),
    };
  const ended = new AbortController();
  const life = ended.signal;
  // A response of Ollama closes the breaker at once: its pause is only for an Ollama that does not respond.
  const alive = () => {
    if (breaker.snapshot().state !== 'closed') breaker.reset();
  };
  const health = createOllamaHealth(url, { clock, log, alive });
  const callOllama = createOllamaCaller(url, { ...needs, health, life });
  const absences = createAbsences();
  const modelList = createModelList({ callOllama, clock, absences });
  const paces = createPaces(clock);
  const queue = createModelQueue({ parallel }, { clock, counts, usualMs: paces.usualMs, life });
  const modelNeeds = { clock, callOllama, modelList, absences, queue, paces, counts };
  const pull = createPull(modelNeeds);
  const { warmUp, loadLater } = createWarmUps({ ...modelNeeds, log, life });
  const callNeeds = { ...modelNeeds, loadLater };

  /** Lists the models after a probe: the cached list may be of an Ollama that no longer runs. */
  async function list(signal: AbortSignal): Promise<readonly ModelInfo[]> {
    await health.requireAlive(signal, 0);
    return await modelList.list(signal);
  }

  async function logFailure<T>(model: string | undefined, work: Promise<T>, signal: AbortSignal) {
    try {
      return await work;
    } catch (error) {
      const failure = signal.aborted ? failureOfAbort(signal, model) : error;
      if (failure instanceof ModelFailure)
        log.debug({ model, kind: failure.kind, error: messageOf(failure) }, 'a model failed');
      throw failure;
    }
  }

  async function counted<T>(model: string, work: Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      return await logFailure(model, work, signal);
    } catch (error) {
      if (error instanceof ModelFailure) counts.failed(fullName(model), error.kind);
      throw error;
    }
  }

  return {
    get status(): ModelsStatus {
      const { until, why = 'no answer' } = breaker.snapshot();
      if (until === undefined || health.status.kind !== 'up') return health.status;
      return { kind: 'refused', error: whyRefused({ why, retryAfterMs: until - clock.now() }) };
    },
    async start() {
      health.watch(life);
    },
    async stop() {
      ended.abort(new ModelFailure('cancelled', 'the hub stops'));
    },
    list: signal => logFailure(undefined, list(signal), signal),
    find: (name, signal, caller) => logFailure(name, modelList.find(name, signal, caller), signal),
    known: name => modelList.cached(name),
    complete: (request, signal) =>
      counted(request.model, complete(request, signal, callNeeds), signal),
    chat: (request, signal) =>
      counted(request.model, chatOnOllama(request, signal, callNeeds), signal),
    embed: (model, text, signal) => counted(model, embed(model, text, signal, callNeeds), signal),
    pull: (model, progress, signal) => logFailure(model, pull(model, progress, signal), signal),
    warmUp: (model, modelOptions = {}) => warmUp(model, modelOptions),
    planPulls: names => absences.plan(names),
    absence: name => absences.of(name),
    metrics: () => ({
      breaker: breaker.snapshot().state,
      ...measured(),
      queues: [...queue.snapshot(), ...queuesOfOthers()],
    }),
  };
}

async function fail(): Promise<never> {
  throw new ModelFailure('unreachable', 'no Ollama is configured. Set OLLAMA_HOST');
}

const noModels: Omit<Models, 'metrics'> = {
  status: { kind: 'off' },
  start: async () => {},
  stop: async () => {},
  list: fail,
  find: fail,
  known: () => undefined,
  complete: fail,
  chat: fail,
  embed: fail,
  pull: fail,
  warmUp: () => {},
  planPulls: () => {},
  absence: name => createAbsences().of(name),
};
