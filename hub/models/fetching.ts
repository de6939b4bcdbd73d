import {
  type Clock,
  type Log,
  type Service,
  backoffMs,
  createAbortScope,
  messageOf,
  sleep,
} from '#core';
import { ModelFailure } from './failure.ts';
import type { Models } from './models.ts';
import { fullName } from './model-name.ts';
import type { PullProgress } from './absence.ts';

type FetchingStatus = {
  /** Models still missing, in the order in which they are fetched. */
  readonly missing: readonly string[];
  readonly now: ({ readonly model: string } & PullProgress) | undefined;
  /** The error of the last failed model. Cleared once a model is fetched, or that one is no longer wanted. */
  readonly error: string | undefined;
};

/** Fetches missing models through Ollama, one after the other, in the background. */
export type Fetching = Service & {
  readonly status: FetchingStatus;
  /**
   * Checks again which models are missing, after a pull that is under way; a pull of a model that is no longer wanted
   * ends. Call it when the wanted models may have changed.
   */
  recheck(): void;
};

type Needs = {
  readonly models: Pick<Models, 'status' | 'find' | 'pull' | 'planPulls'>;
  readonly clock: Clock;
  readonly log: Log;
};

const retry = { firstMs: 5_000, maxMs: 300_000, jitter: 0 };
/** Interval in ms for checking the known status of an unreachable Ollama. This sends no request. */
const unreachablePollMs = 500;
/** Minimum interval between log lines about progress, in ms. */
const progressLogMs = 10_000;

/**
 * Creates a fetcher for the models that `wanted` returns, the most important first. Models are looked up at
 * start and on `recheck`; a model that the user removes later stays removed. A model that no registry has is
 * not retried before the next `recheck`.
 */
export function createFetching(wanted: () => readonly string[], needs: Needs): Fetching {
  const { models, clock, log } = needs;
  const ended = new AbortController();
  const { signal } = ended;
  let missing: readonly string[] = [];
  let now: FetchingStatus['now'];
  let failed: { readonly model: string; readonly error: string } | undefined;
  let running: Promise<void> | undefined;
  let isStale = false;
  let wake = () => {};
  /** The model being pulled, and what ends its pull. */
  let pulling: { readonly model: string; readonly giveUp: () => void } | undefined;

  function plan(next: readonly string[]): void {
    missing = next;
    models.planPulls(missing);
  }
  const remove = (model: string) => plan(missing.filter(other => other !== model));

  async function fetchOne(model: string): Promise<void> {
    log.info({ model }, 'fetching a model that the rules name');
    let loggedMs = clock.monotonic();
    using scope = createAbortScope([signal]);
    const unwanted = 'the rules no longer name it';
    pulling = { model, giveUp: () => scope.abort(new ModelFailure('cancelled', unwanted)) };
    try {
      await models.pull(
        model,
        progress => {
          now = { model, ...progress };
          if (clock.monotonic() - loggedMs < progressLogMs) return;
          loggedMs = clock.monotonic();
          log.info(now, 'a model is being fetched');
        },
        scope.signal,
      );
    } finally {
      now = undefined;
      pulling = undefined;
    }
    log.info({ model }, 'a model was fetched');
  }

  /** Fetches missing models. Resolves to true if some of them failed and can be retried. */
  async function pass(): Promise<boolean> {
    let hasRetries = false;
    for (const model of missing) {
      if (isStale || signal.aborted) break;
      try {
        if (!(await models.find(model, signal))) await fetchOne(model);
        remove(model);
        failed = undefined;
      } catch (cause) {
        if (signal.aborted || !missing.includes(model)) break;
        const isUnknownModel = cause instanceof ModelFailure && cause.kind === 'missing';
        const message = isUnknownModel
          ? 'no registry has a model that the rules name: correct its name there'
          : 'a model could not be fetched and will be retried';
        const error = messageOf(cause);
        if (failed?.error !== error) log.warn({ model, error }, message);
        failed = { model, error };
        if (isUnknownModel) remove(model);
        else hasRetries = true;
      }
    }
    return hasRetries;
  }

  async function run(): Promise<void> {
    for (let failures = 0; !signal.aborted;) {
      if (isStale) {
        isStale = false;
        failures = 0;
      }
      if (missing.length > 0 && models.status.kind !== 'up') {
        await pause(unreachablePollMs);
        continue;
      }
      const before = missing.length;
      const hasRetries = await pass();
      if (isStale) continue;
      if (!hasRetries || signal.aborted) return;
      failures = missing.length < before ? 1 : failures + 1;
      await pause(backoffMs(retry, failures, () => 0));
    }
  }

  async function pause(milliseconds: number): Promise<void> {
    const waking = new AbortController();
    wake = () => waking.abort();
    await sleep(milliseconds, { clock, signal: waking.signal });
  }

  function recheck(): void {
    if (signal.aborted) return;
    isStale = true;
    // At once: messages about missing models must be true during a long pull, too.
    plan([...new Set(wanted().map(fullName))]);
    if (failed && !missing.includes(failed.model)) failed = undefined;
    if (pulling && !missing.includes(pulling.model)) pulling.giveUp();
    wake();
    running ??= run().finally(() => {
      running = undefined;
      if (isStale) recheck();
    });
  }

  return {
    get status() {
      return { missing, now, error: failed?.error };
    },
    recheck,
    async start() {
      recheck();
    },
    async stop() {
      ended.abort(new ModelFailure('cancelled', 'the hub stops'));
      wake();
      await running;
    },
  };
}
