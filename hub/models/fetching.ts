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
  /** Models that are still missing, in the order in which they will be pulled. */
  readonly missing: readonly string[];
  readonly now: ({ readonly model: string } & PullProgress) | undefined;
  /** Error of the model that failed last. Cleared when a model is pulled, or the failed one is no longer wanted. */
  readonly error: string | undefined;
};

/** Pulls missing models through Ollama in the background, one after the other. */
export type Fetching = Service & {
  readonly status: FetchingStatus;
  /**
   * Checks again which models are missing. A running pull is finished first, or cancelled if its model is no longer
   * wanted. Call this when the wanted models may have changed.
   */
  recheck(): void;
};

type Needs = {
  readonly models: Pick<Models, 'status' | 'find' | 'pull' | 'planPulls'>;
  readonly clock: Clock;
  readonly log: Log;
};

const retry = { firstMs: 5_000, maxMs: 300_000, jitter: 0 };
/** Interval in ms for reading the cached status of an unreachable Ollama. No request is sent. */
const unreachablePollMs = 500;
/** Minimum interval between log lines about progress, in ms. */
const progressLogMs = 10_000;

/**
 * Creates a service that pulls the models that `wanted` returns, the most important first. It checks which are missing
 * at start and on `recheck`; a model that the user removes later stays removed. A model that no registry has is not
 * retried before the next `recheck`.
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
  /** The model that is being pulled, and the function that cancels its pull. */
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

  /** Pulls the missing models. Resolves to true if some of them failed and can be retried. */
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
    // Set at once: messages about missing models must be correct even while another pull runs.
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
