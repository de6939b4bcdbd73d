import assert from 'node:assert/strict';
import { type Clock, silent, systemClock } from '#core';
import { type ManualClock, createManualClock } from '#helpers/clock';
import {
  type CompletionRequest,
  type FailureKind,
  ModelFailure,
  type Models,
  createModels,
} from '#models';
import { type Breaker, createBreaker } from '#resilience';

/** Models over one Ollama double, until disposed. */
export type Scene = AsyncDisposable & { readonly models: Models; readonly breaker: Breaker };

export const recoveryMs = 30_000;

/** Opens models without starting them, so that they send no requests before the test does. */
export function openModels(url: string, clock: Clock = systemClock): Scene {
  const breaker = createBreaker({ failureThreshold: 3, recoveryMs, trialMs: 60_000 }, clock);
  const models = createModels({ url }, { clock, log: silent, fetch, breaker });
  return {
    models,
    breaker,
    async [Symbol.asyncDispose]() {
      breaker[Symbol.dispose]();
      await models.stop();
    },
  };
}

/** Opens models with a manual clock. */
export function openStill(url: string): Scene & { readonly clock: ManualClock } {
  const clock = createManualClock();
  return { ...openModels(url, clock), clock };
}

/** Signal that never aborts. */
export const never = new AbortController().signal;

export const asking = (made: Partial<CompletionRequest> = {}): CompletionRequest => ({
  model: 'llama3.2:3b',
  system: 'Rewrite the prompt.',
  prompt: 'make it better',
  options: { temperature: 0 },
  firstTokenMs: 10_000,
  totalMs: 30_000,
  caller: { client: 'tester' },
  ...made,
});

/** Asserts that the work fails, and returns the failure. */
export async function failureOf(work: Promise<unknown>): Promise<ModelFailure> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof ModelFailure, `${String(error)} is no failure of a model`);
    return error;
  }
  throw new Error('it did not fail');
}

/** Returns the kind of the failure with which the work ends. */
export const kindOf = async (work: Promise<unknown>): Promise<FailureKind> =>
  (await failureOf(work)).kind;

/** Creates a gate that lets one line pass each time it is opened. The first line passes at once. */
export function createGate() {
  let next = Promise.withResolvers<void>();
  return {
    before: async (line: number) => {
      if (line > 0) await next.promise;
      next = Promise.withResolvers();
    },
    open: () => next.resolve(),
  };
}
