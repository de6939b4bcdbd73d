import { type Clock, type FairQueue, createFairQueue, durationText, unlessAborted } from '#core';
import { ModelFailure, failureOfAbort } from './failure.ts';
import type { createModelCounts } from './model-counts.ts';

/** The prompt or request for which a model is called. Failures of all calls for one count once against the breaker. */
export type ModelCaller = {
  /** Clients take turns in the queue. */
  readonly client: string;
  /** Who asks, if not a client for its prompt. */
  readonly kind?: 'agent' | 'server';
};

/** A call in the queue of its model. Disposing gives up its place, or ends its turn. */
export interface QueuePlace extends Disposable {
  readonly isWaiting: boolean;
  /** From its turn on: true if the call before was for another model and may have unloaded this one. */
  readonly isSwitch: boolean;
  /** Resolves at the call's turn. Rejects with the reason of the signal, or with ModelFailure if the call must give way. */
  turn(signal: AbortSignal): Promise<void>;
  /**
   * The wait so far, such as "it waited 12 s for 5 prompts before it" or "for the model to be loaded"; undefined if it did
   * not wait.
   */
  waited(): string | undefined;
}

type QueuedCall = {
  readonly client: string;
  readonly isEmbedding?: boolean;
  /** The call only loads the model. */
  readonly isLoad?: boolean;
  /** Monotonic end of its time. */
  readonly endsMs: number;
};

type Entry = {
  readonly isLoad: boolean;
  /** Gives the entry its turn. Returns false if too little time is left: the entry is refused, and leaves the queue. */
  readonly admit: () => boolean;
  readonly refuse: (failure: ModelFailure) => void;
};

type Lane = {
  readonly model: string;
  readonly most: number;
  /** Calls at once: `most`, or fewer after an answer that Ollama's own queue is full. */
  limit: number;
  active: number;
  /** Active calls that only load the model. */
  loading: number;
  /** Turns since the start of the hub. */
  turns: number;
  /** Successes since the limit changed. */
  successes: number;
  /** Since when its calls wait for another model. */
  sinceMs: number;
  readonly waiting: FairQueue<Entry>;
};

/** Calls to one model that Ollama works on, and those that wait in the hub. */
export type QueueLength = {
  readonly model: string;
  readonly active: number;
  readonly waiting: number;
};

export type ModelQueueOptions = {
  /** OLLAMA_NUM_PARALLEL, if known. Ollama itself chooses 1 for most models. */
  readonly parallel?: number | undefined;
  /** Bound of waiting calls per model. */
  readonly maxWaiting?: number;
};

type QueueNeeds = {
  readonly clock: Clock;
  readonly counts: ReturnType<typeof createModelCounts>;
  /** Usual duration of a call of a model. */
  readonly usualMs: (model: string) => number;
  /** Its abort refuses all calls that wait. */
  readonly life: AbortSignal;
};

/** An embedding takes milliseconds: Ollama itself queues these few. */
const parallelEmbeddings = 4;
/** Successes in a row after which the limit is raised again by one. */
const raiseAfter = 20;
/** Number of models above which those without calls are forgotten, unless their limit was lowered. Agents may name any model. */
const forgetAbove = 100;
/** Time in ms after which another model gets its turn, where Ollama holds only one model in memory. */
const maxRunMs = 10_000;

/**
 * Limits the calls that Ollama works on at the same time, per model. Ollama puts further calls into a queue of its own,
 * silently, so that a waiting call looks like a dead one. If Ollama holds only one model in memory, calls are grouped
 * by model, because each change of the model takes seconds.
 */
export function createModelQueue(
  { parallel = 1, maxWaiting = 128 }: ModelQueueOptions,
  { clock, counts, usualMs, life }: QueueNeeds,
) {
  const lanes = new Map<string, Lane>();
  /** The model of the latest turn, and since when its calls have run. */
  let current: Lane | undefined;
  let runSinceMs = 0;
  /** Whether Ollama was seen to hold only one model in memory after two were used; undefined before. */
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

  /** The lane of the next turn, if there is one now. */
  function choose(): Lane | undefined {
    const all = [...lanes.values()];
    if (isSingle !== true) return all.find(hasRoom);
    const others = all.filter(lane => lane !== current && lane.waiting.length > 0);
    const isOver = others.length > 0 && clock.monotonic() - runSinceMs >= maxRunMs;
    if (current && isBusy(current) && !isOver) return hasRoom(current) ? current : undefined;
    // Another model waits until the calls under way are over.
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
    /** False for a call that had its turn at once, beside others. */
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
    /** Whether a call that had to wait can no longer be done in time. Ollama would read its prompt in vain. */
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
    /** Ollama answered that its own queue is full: other programs use it as well. Fewer calls at once are sent. */
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
    /** Takes the models in memory after a switch of the model, from /api/ps. */
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
