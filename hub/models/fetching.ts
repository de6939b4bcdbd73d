import { type Clock, type Log, type Part, backoffMs, messageOf } from '#core';
import { ModelFailure } from './failure.ts';
import type { Models } from './models.ts';
import { fullName } from './names.ts';
import type { PullProgress } from './pull.ts';

/** How far models are fetched that are wanted and were not there. */
export type FetchingStatus = {
  /** Those that are not there yet, in the order in which they are fetched. */
  readonly missing: readonly string[];
  /** The one that is fetched now, and how far it is. */
  readonly now: ({ readonly model: string } & PullProgress) | undefined;
  /** Why the last one that failed did, until one is fetched. */
  readonly error: string | undefined;
};

/** Has Ollama fetch models that it lacks, one after the other, in the background. */
export interface Fetching extends Part {
  readonly status: FetchingStatus;
  /** Other models may be wanted now: they are looked for at once. */
  look(): void;
}

type Needs = {
  readonly models: Pick<Models, 'status' | 'find' | 'pull'>;
  readonly clock: Clock;
  readonly log: Log;
};

/** After this what failed is tried again. */
const retry = { firstMs: 5_000, maxMs: 300_000, jitter: 0 };
/** So often it is looked whether an Ollama that is away has been seen again. It is not asked: others do that. */
const awayMs = 500;
/** So often the log tells how far a model is. */
const toldMs = 10_000;

/**
 * `wanted` names models, the most wanted first. Each is looked for when this starts, and when it is told to look;
 * one that somebody removes later stays away. A model that no registry has is not tried again before that.
 */
export function createFetching(wanted: () => readonly string[], needs: Needs): Fetching {
  const { models, clock, log } = needs;
  const ended = new AbortController();
  const { signal } = ended;
  let missing: readonly string[] = [];
  let now: FetchingStatus['now'];
  let error: string | undefined;
  let running: Promise<void> | undefined;
  let isStale = false;
  let wake = () => {};

  const remove = (model: string) => void (missing = missing.filter(other => other !== model));

  async function fetchOne(model: string): Promise<void> {
    log.info({ model }, 'a model that rules name is not there: it is fetched');
    let told = clock.monotonic();
    try {
      await models.pull(
        model,
        progress => {
          now = { model, ...progress };
          if (clock.monotonic() - told < toldMs) return;
          told = clock.monotonic();
          log.info(now, 'a model is being fetched');
        },
        signal,
      );
    } finally {
      now = undefined;
    }
    log.info({ model }, 'a model was fetched');
  }

  /** Fetches what is missing; true where something of it is to be tried again. */
  async function pass(): Promise<boolean> {
    let mayComeLater = false;
    for (const model of missing) {
      if (isStale || signal.aborted) break;
      try {
        if (!(await models.find(model, signal))) await fetchOne(model);
        remove(model);
        error = undefined;
      } catch (cause) {
        if (signal.aborted) break;
        const isNowhere = cause instanceof ModelFailure && cause.kind === 'missing';
        if (error !== messageOf(cause))
          log.warn(
            { model, error: messageOf(cause) },
            isNowhere
              ? 'a model that rules name is nowhere to be had: correct its name there'
              : 'a model could not be fetched, which is tried again',
          );
        error = messageOf(cause);
        if (isNowhere) remove(model);
        else mayComeLater = true;
      }
    }
    return mayComeLater;
  }

  async function run(): Promise<void> {
    for (let failures = 0; !signal.aborted;) {
      if (isStale) {
        isStale = false;
        failures = 0;
        missing = [...new Set(wanted().map(fullName))];
      }
      if (missing.length > 0 && models.status.kind !== 'up') {
        await pause(awayMs);
        continue;
      }
      const before = missing.length;
      const mayComeLater = await pass();
      if (isStale) continue;
      if (!mayComeLater) return;
      failures = missing.length < before ? 1 : failures + 1;
      await pause(backoffMs(retry, failures, () => 0));
    }
  }

  async function pause(milliseconds: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    using _timer = clock.after(milliseconds, resolve);
    wake = resolve;
    await promise;
  }

  function look(): void {
    if (signal.aborted) return;
    isStale = true;
    wake();
    running ??= run().finally(() => {
      running = undefined;
      if (isStale) look();
    });
  }

  return {
    name: 'fetching',
    get status() {
      return { missing, now, error };
    },
    look,
    async start() {
      look();
    },
    async stop() {
      ended.abort(new ModelFailure('cancelled', 'the hub stops'));
      wake();
      await running;
    },
  };
}
