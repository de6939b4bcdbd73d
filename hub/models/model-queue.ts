import { type Clock, type FairQueue, createFairQueue, durationText, unlessAborted } from '#core';
import { ModelFailure, failureOfAbort } from './failure.ts';
import type { createModelCounts } from './model-counts.ts';

/** The prompt or request that calls a model. If several of its calls fail, the breaker counts one failure. */
export type ModelCaller = {
  /** Name of the client. The queue alternates between clients. */
  readonly client: string;
  /** Kind of the caller; absent for the prompt of a client. */
  readonly kind?: 'agent' | 'server';
};

/** A call's place in the queue of its model. Disposing leaves the queue, or ends the turn. */
export interface QueuePlace extends Disposable {
  readonly isWaiting: boolean;
  /** Valid from the turn on. True if the previous call was for another model and may have unloaded this one. */
  readonly isSwitch: boolean;
  /** Resolves at the call's turn. Rejects with the reason of the signal, or with ModelFailure if the queue drops it. */
  turn(signal: AbortSignal): Promise<void>;
  /**
   * Text about the wait so far, such as "it waited 12 s for 5 prompts before it" or "for the model to be loaded";
   * undefined if the call did not wait.
   */
  waited(): string | undefined;
}

type QueuedCall = {
  readonly client: string;
  readonly isEmbedding?: boolean;
  /** True if the call only loads the model. */
  readonly isLoad?: boolean;
  /** Deadline of the call, in monotonic ms. */
  readonly endsMs: number;
};

type Entry = {
  readonly isLoad: boolean;
  /** Starts the turn of the call. Returns false, and removes the call from the queue, if too little time is left. */
  readonly admit: () => boolean;
  readonly refuse: (failure: ModelFailure) => void;
};

type Lane = {
  readonly model: string;
  readonly most: number;
  /** Maximum number of concurrent calls: `most`, or fewer after Ollama answered that its own queue is full. */
  limit: number;
  active: number;
  /** Number of active calls that only load the model. */
  loading: number;
  /** Number of turns since the hub started. */
  turns: number;
  /** Number of successful calls since the limit changed. */
  successes: number;
  /** Time since which calls of this model wait for another model, in monotonic ms. */
  sinceMs: number;
  readonly waiting: FairQueue<Entry>;
};

/** Number of calls to one model that Ollama processes, and of those that wait in the hub. */
export type QueueLength = {
  readonly model: string;
  readonly active: number;
  readonly waiting: number;
};

export type ModelQueueOptions = {
  /** OLLAMA_NUM_PARALLEL, if known. Ollama itself chooses 1 for most models. */
  readonly parallel?: number | undefined;
  /** Maximum number of waiting calls per model. */
  readonly maxWaiting?: number;
};

type QueueNeeds = {
  readonly clock: Clock;
  readonly counts: ReturnType<typeof createModelCounts>;
  /** Returns the usual duration of a call of the model, in ms. */
  readonly usualMs: (model: string) => number;
  /** When aborted, all waiting calls are refused. */
  readonly life: AbortSignal;
};

/** Concurrent calls per embedding model. Embeddings take milliseconds, so Ollama may queue a few of them. */
const parallelEmbeddings = 4;
/** Number of successful calls after which a lowered limit is raised by one. */
const raiseAfter = 20;
/** Number of models above which idle models are removed, unless their limit was lowered. Agents may name any model. */
const forgetAbove = 100;
/** Time in ms after which waiting calls of another model get their turn, if Ollama keeps only one model in memory. */
const maxRunMs = 10_000;

/**
 * Limits the concurrent calls to each model of Ollama. Ollama queues further calls itself without a sign, so that a
 * waiting call looks like one that hangs. If Ollama keeps only one model in memory, calls are grouped by model, because
 * switching the model takes seconds.
 */
export function createModelQueue(
  { parallel = 1, maxWaiting = 128 }: ModelQueueOptions,
  { clock, counts, usualMs, life }: QueueNeeds,
) {
  const lanes = new Map<string, Lane>();
  /** The model of the latest turn. `runSinceMs`: since when calls of this model have run, in monotonic ms. */
  let current: Lane | undefined;
  let runSinceMs = 0;
  /** True if Ollama was seen to keep only one model in memory; undefined before two models were used. */
  let isSingle: boolean | undefined;
  const total = { turns: 0, active: 0, loading: 0 };

  function laneOf(model: string, isEmbedding: boolean): Lane {
    const known = lanes.get(model);
    if (known) return known;
    const most = isEmbedding ? Math.max(parallel, parallelEmbeddings) : parallel;
    const counters = { limit: most, active: 0, loading: 0, turns: 0, successes: 0, sinceMs: 0 };
    const lane: Lane = { model, most, ...counters, waiting: createFairQueue() };
    if (lanes.size >= forgetAbove) forgetIdle();
    lanes.set(model, lane);
    return lane;
  }

  function forgetIdle(): void {
    for (const [model, lane] of lanes)
      if (!isBusy(lane) && lane !== current && lane.limit === lane.most) lanes.delete(model);
  }

  const isBusy = ({ active, waiting }: Lane) => active > 0 || waiting.length > 0;
  const hasRoom = ({ active, limit, waiting }: Lane) => waiting.length > 0 && active < limit;

  /** Returns the lane whose next call gets a turn; undefined if none can now. */
  function choose(): Lane | undefined {
    const all = [...lanes.values()];
    if (isSingle !== true) return all.find(hasRoom);
    const others = all.filter(lane => lane !== current && lane.waiting.length > 0);
    const isOver = others.length > 0 && clock.monotonic() - runSinceMs >= maxRunMs;
    if (current && isBusy(current) && !isOver) return hasRoom(current) ? current : undefined;
    // Calls of another model wait until the active calls are finished.
    if (total.active > 0) return undefined;
    return others.toSorted((a, b) => a.sinceMs - b.sinceMs)[0] ?? all.find(hasRoom);
  }

  function giveTurns(): void {
    for (let lane = choose(); lane; lane = choose()) {
      const next = lane.waiting.take();
      if (!next?.admit()) continue;
      if (lane !== current) {
        if (current) current.sinceMs = clock.monotonic();
        runSinceMs = clock.monotonic();
      }
      for (const counter of [lane, total]) {
        counter.active++;
        counter.turns++;
        if (next.isLoad) counter.loading++;
      }
      current = lane;
    }
  }

  function fullOf({ model }: Lane): ModelFailure {
    const message = `${model} has a full queue: ${maxWaiting} prompts wait for it. Try again later`;
    return new ModelFailure('queue', message, { model });
  }

  function join(model: string, call: QueuedCall): QueuePlace {
    const { client, isEmbedding = false, isLoad = false, endsMs } = call;
    const lane = laneOf(model, isEmbedding);
    if (lane.waiting.length >= maxWaiting) {
      const newest = lane.waiting.newestOfLongest(client);
      if (!newest) throw fullOf(lane);
      newest.refuse(fullOf(lane));
    }
    const joinedMs = clock.monotonic();
    const counter = isSingle ? total : lane;
    const turnsBefore = counter.turns - counter.active;
    const loads = counter.loading;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let state: 'waiting' | 'active' | 'over' = 'waiting';
    let isSwitch = false;
    /** False if the call got its turn at once, without waiting for other calls. */
    let hasWaited = false;
    let waited = { ms: 0, calls: 0 };
    const wait = () => ({
      ms: clock.monotonic() - joinedMs,
      calls: hasWaited ? counter.turns - turnsBefore : 0,
    });
    const endWait = (next: 'active' | 'over') => {
      waited = wait();
      state = next;
      counts.waited(model, waited.ms);
    };
    function waitedText(): string | undefined {
      const { ms, calls } = state === 'waiting' ? wait() : waited;
      if (calls === 0) return undefined;
      const prompts = calls - loads;
      const reasons = [
        ...(loads > 0 ? ['the model to be loaded'] : []),
        ...(prompts > 0 ? [`${prompts} prompt${prompts === 1 ? '' : 's'} before it`] : []),
      ];
      return `it waited ${durationText(ms)} for ${reasons.join(' and for ')}`;
    }
    function refuse(failure: ModelFailure): void {
      leave();
      endWait('over');
      reject(failure);
    }
    /** True if a call that had to wait can no longer finish in time. Ollama would process its prompt for nothing. */
    function isTooLate(leftMs: number): boolean {
      return wait().calls > 0 && leftMs <= usualMs(model) / 2;
    }
    if (!isBusy(lane)) lane.sinceMs = joinedMs;
    const leave = lane.waiting.append(client, {
      isLoad,
      admit() {
        const leftMs = endsMs - clock.monotonic();
        if (isTooLate(leftMs)) {
          const left = leftMs > 0 ? `, and the ${durationText(leftMs)} left were too short` : '';
          refuse(new ModelFailure('queue', `${waitedText()}${left}`, { model }));
          return false;
        }
        isSwitch = isSingle !== false && current !== undefined && current !== lane;
        endWait('active');
        resolve();
        return true;
      },
      refuse,
    });
    giveTurns();
    hasWaited = state === 'waiting';
    return {
      get isWaiting() {
        return state === 'waiting';
      },
      get isSwitch() {
        return isSwitch;
      },
      turn: signal => unlessAborted(promise, signal),
      waited: waitedText,
      [Symbol.dispose]() {
        if (state === 'waiting') {
          leave();
          endWait('over');
        } else if (state === 'active') {
          state = 'over';
          for (const one of [lane, total]) {
            one.active--;
            if (isLoad) one.loading--;
          }
        } else return;
        giveTurns();
      },
    };
  }

  life.addEventListener('abort', () => {
    for (const lane of lanes.values())
      for (let next = lane.waiting.take(); next; next = lane.waiting.take())
        next.refuse(failureOfAbort(life, lane.model));
  });

  return {
    join,
    /** Lowers the limit of concurrent calls after Ollama's own queue was full, because other programs use it. */
    lower(model: string): void {
      const lane = lanes.get(model);
      if (!lane) return;
      lane.limit = Math.max(1, Math.min(lane.limit, lane.active) - 1);
      lane.successes = 0;
    },
    succeeded(model: string): void {
      const lane = lanes.get(model);
      if (!lane || lane.limit >= lane.most || ++lane.successes < raiseAfter) return;
      lane.limit++;
      lane.successes = 0;
    },
    /** Sets the models in memory, as /api/ps lists them after a switch of the model. */
    loaded(names: readonly string[]): void {
      if (names.length > 0) isSingle = names.length === 1;
      giveTurns();
    },
    snapshot: (): readonly QueueLength[] =>
      [...lanes.values()]
        .filter(isBusy)
        .map(({ model, active, waiting }) => ({ model, active, waiting: waiting.length })),
  };
}
