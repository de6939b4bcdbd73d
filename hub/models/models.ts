import { type Clock, type Log, type Part, messageOf } from '#core';
import { type ModelBreaker, createCaller, whyRefused } from './call.ts';
import { type Completion, type CompletionRequest, complete } from './complete.ts';
import { type Embedding, embed } from './embed.ts';
import { ModelFailure, failureOfAbort } from './failure.ts';
import { type ModelsStatus, createHealth } from './health.ts';
import { type ModelInfo, createListing } from './listing.ts';
import { type PullProgress, createPulls } from './pull.ts';
import { createWarmUps } from './warm-up.ts';

/** Local models. All that is asked of them rejects with ModelFailure where it comes to nothing. */
export interface Models extends Part {
  readonly status: ModelsStatus;
  /** The models that are there, as of at most 30 s ago, of an Ollama that answers now; read once at a time. */
  list(signal: AbortSignal): Promise<readonly ModelInfo[]>;
  /** A model by its name: `llama3.2:3b`, or `x`, which means `x:latest`. */
  find(name: string, signal: AbortSignal): Promise<ModelInfo | undefined>;
  /** The same, as far as that is known without asking. */
  known(name: string): ModelInfo | undefined;
  /** Asks a model. What is empty, cut off or nothing but thoughts is a failure. */
  complete(request: CompletionRequest, signal: AbortSignal): Promise<Completion>;
  /** The vector of a text, within 10 s. A text that does not fit is a failure, and never cut. */
  embed(model: string, text: string, signal: AbortSignal): Promise<Embedding>;
  /** Fetches a model, or joins where it is fetched already; what Ollama has transferred it keeps. */
  pull(
    model: string,
    progress: (progress: PullProgress) => void,
    signal: AbortSignal,
  ): Promise<void>;
  /** Has a model loaded in the background, with the options that calls will have. Never throws. */
  warmUp(model: string, options?: CompletionRequest['options']): void;
}

export type ModelsOptions = {
  /** Where Ollama answers; undefined where there is none, and everything fails as unreachable. */
  readonly url: string | undefined;
  /** How long models stay in memory after a call, as Ollama writes it: `30m`, or `-1` for ever. */
  readonly keepAlive?: string;
  /** So long a sign of life may take before Ollama counts as down. */
  readonly connectMs?: number;
};

export type ModelsNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  readonly fetch: typeof globalThis.fetch;
  readonly breaker: ModelBreaker;
};

/** The models of one Ollama. Nothing is opened before `start` or a call. */
export function createModels(options: ModelsOptions, needs: ModelsNeeds): Models {
  const { url, keepAlive: given = '30m', connectMs = 1_000 } = options;
  if (url === undefined) return noModels;
  const { breaker, clock, log } = needs;
  // A bare number has no unit, which Ollama wants of what is text.
  const keepAlive = /^-?\d+$/.test(given) ? Number(given) : given;
  const ended = new AbortController();
  const life = ended.signal;
  const health = createHealth({ url, connectMs }, { clock, log });
  const caller = createCaller({ url }, { ...needs, health, life });
  const listing = createListing(caller, { clock });
  const pulls = createPulls({ caller, listing });
  const warmUp = createWarmUps({ caller, listing, log, keepAlive, life });

  function statusOf(): ModelsStatus {
    const { until, why = 'no answer' } = breaker.snapshot();
    if (until === undefined || health.status.kind !== 'up') return health.status;
    return { kind: 'refused', error: whyRefused({ why, retryAfterMs: until - clock.now() }) };
  }

  /** Whoever asks for it wants to know what is there: a list that was kept may be of an Ollama that is away. */
  async function list(signal: AbortSignal): Promise<readonly ModelInfo[]> {
    await health.needAlive(signal, 0);
    return await listing.list(signal);
  }

  async function told<T>(model: string | undefined, work: Promise<T>, signal: AbortSignal) {
    try {
      return await work;
    } catch (error) {
      const failure = signal.aborted ? failureOfAbort(signal, model) : error;
      if (failure instanceof ModelFailure)
        log.debug({ model, kind: failure.kind, error: messageOf(failure) }, 'a model failed');
      throw failure;
    }
  }

  return {
    name: 'models',
    get status() {
      return statusOf();
    },
    async start() {
      health.watch(life);
    },
    async stop() {
      ended.abort(new ModelFailure('cancelled', 'the hub stops'));
    },
    list: signal => told(undefined, list(signal), signal),
    find: (name, signal) => told(name, listing.find(name, signal), signal),
    known: name => listing.known(name),
    complete: (request, signal) =>
      told(request.model, complete(request, signal, { clock, caller, listing, keepAlive }), signal),
    embed: (model, text, signal) =>
      told(model, embed(model, text, signal, { caller, listing, keepAlive }), signal),
    pull: (model, progress, signal) => told(model, pulls.pull(model, progress, signal), signal),
    warmUp: (model, modelOptions = {}) => warmUp(model, modelOptions),
  };
}

async function fail(): Promise<never> {
  throw new ModelFailure('unreachable', 'there is no Ollama. Set OLLAMA_HOST');
}

const noModels: Models = {
  name: 'models',
  status: { kind: 'off' },
  start: async () => {},
  stop: async () => {},
  list: fail,
  find: fail,
  known: () => undefined,
  complete: fail,
  embed: fail,
  pull: fail,
  warmUp: () => {},
};
