import type { Ollama } from 'ollama';
import { type Clock, createAbortScope, durationText, messageOf } from '#core';
import { type CallContext, checkJsonLines, checkJson, failureOfResponse } from './response-body.ts';
import { ModelFailure, failureOfAbort } from './failure.ts';
import { startIdleTimeout } from './idle-timeout.ts';
import type { ModelCaller } from './model-queue.ts';
import type { OllamaHealth } from './ollama-health.ts';

/** Decides whether Ollama may be called. A circuit breaker of #resilience satisfies it. */
export interface ModelBreaker {
  /** Requests a permit. The caller must call exactly one of its three methods when the call ends. */
  claim():
    | {
        readonly kind: 'permit';
        succeeded(): void;
        failed(why: string): void;
        cancelled(): void;
      }
    | { readonly kind: 'refused'; readonly retryAfterMs: number; readonly why: string };
  /** Current state. `until`: next allowed call in milliseconds since the epoch; undefined while calls are allowed. */
  snapshot(): {
    readonly state: 'closed' | 'open' | 'half_open';
    readonly until: number | undefined;
    readonly why: string | undefined;
  };
  /** Closes the breaker. */
  reset(): void;
}

/** Duration for which Ollama keeps a model in memory after a call. */
export const keepAlive = '30m';

/**
 * Fields of each request that loads a chat model. Without `shift: false`, Ollama silently drops the beginning of a
 * conversation that exceeds the context. Since 0.30, it loads a model again for another value.
 */
export const chatFields = { keep_alive: keepAlive, shift: false, stream: true } as const;

/** The methods of the `ollama` package's client that the hub uses. Their results are parsed by the callers. */
export type OllamaClient = Pick<Ollama, 'embed' | 'list' | 'ps' | 'pull' | 'show'> & {
  chat(request: OllamaChat): Promise<AsyncIterable<unknown>>;
};

/** Chat request. The type in the package lacks some values of `think`, options, tools and messages. */
export type OllamaChat = {
  readonly model: string;
  readonly messages: { readonly role: string; readonly content: string }[];
  readonly options: object;
  readonly stream: true;
};

export type OllamaCall<T> = {
  /** Subject of error messages, such as "llama3.2:3b" or "the list of models". */
  readonly subject: string;
  readonly model?: string;
  readonly isStream?: boolean;
  /** Idle timeout in ms, before the answer and during it. */
  readonly silentMs?: number;
  /** Idle timeout in ms before the first sign of progress, if it differs from `silentMs`. */
  readonly firstMs?: number;
  readonly totalMs?: number;
  /** False if the call bypasses the breaker. */
  readonly isGated: boolean;
  /** The prompt that makes the call. Its failure counts against the breaker; without a caller, it does not. */
  readonly caller?: ModelCaller | undefined;
  /** Makes the call, and calls `heard` at each sign of progress. Rejects with ModelFailure. */
  run(client: OllamaClient, heard: () => void): Promise<T>;
};

/** Makes a call to Ollama. Rejects with ModelFailure. */
export type CallOllama = ReturnType<typeof createOllamaCaller>;

type Needs = {
  readonly clock: Clock;
  readonly fetch: typeof globalThis.fetch;
  readonly breaker: ModelBreaker;
  readonly health: Pick<OllamaHealth, 'requireAlive' | 'heard' | 'failed'>;
  readonly life: AbortSignal;
};

/** Minimum silence in ms before a timeout that counts as Ollama's failure. After less, the timeout was too short. */
const decisiveIdleMs = 5_000;
/** Time in ms for a stream to end after its last line. */
const endMs = 1_000;

/**
 * Creates a function that calls Ollama. It adds the cancellation and timeouts per call that the client of the `ollama`
 * package lacks. The package is loaded at the first call.
 */
export function createOllamaCaller(url: string, needs: Needs) {
  const { clock, breaker, health } = needs;
  /** Prompts with a failed call. Further failures of the same prompt do not count against the breaker. */
  const failed = new WeakSet<ModelCaller>();
  let lastTokenMs = -Infinity;

  /** True if a failure counts against the breaker: once for each prompt. */
  function counts(caller: ModelCaller | undefined): boolean {
    if (!caller || failed.has(caller)) return false;
    failed.add(caller);
    return true;
  }

  return async function callOllama<T>(call: OllamaCall<T>, signal: AbortSignal): Promise<T> {
    const permit = call.isGated ? breaker.claim() : freePermit;
    if (permit.kind === 'refused') throw refusalOf(permit, call.model);
    const late = (how: string) => new ModelFailure('timeout', `${call.subject} ${how}`, call);
    const { totalMs, silentMs, firstMs = silentMs, caller } = call;
    const deadline = totalMs !== undefined && {
      clock,
      limitMs: totalMs,
      reason: () => late(`was not done within ${durationText(totalMs)}`),
    };
    using limit = createAbortScope([signal, needs.life], deadline || undefined);
    using idleTimeout = startIdleTimeout(firstMs, clock, timeoutMs =>
      limit.abort(late(`was silent for ${durationText(timeoutMs)}`)),
    );
    const heard = () => {
      if (call.isGated) lastTokenMs = clock.monotonic();
      idleTimeout.reset(silentMs);
    };
    let isAlive = false;
    const context = { model: call.model, signal: limit.signal };
    // Responses are checked here: the `ollama` package never receives an invalid one.
    const checkedFetch: typeof globalThis.fetch = async (input, init) => {
      const response = await needs
        // A redirect could send the prompt to another host, or make the hub send requests to one.
        .fetch(input, { ...init, redirect: 'manual', signal: limit.signal })
        .catch((cause: unknown) => {
          throw failureOfFetch(cause, context);
        });
      idleTimeout.reset();
      if (!response.ok) throw await failureOfResponse(response, context);
      return call.isStream ? checkJsonLines(response, context) : await checkJson(response, context);
    };
    try {
      await health.requireAlive(limit.signal);
      isAlive = true;
      const { Ollama } = await import('ollama');
      const client: OllamaClient = new Ollama({ host: url, fetch: checkedFetch });
      const result = await call.run(client, heard);
      permit.succeeded();
      health.heard();
      // The stream usually ends with its last line. Close the connection if it does not.
      clock.after(endMs, () => limit.abort(new Error('the answer is complete')));
      return result;
    } catch (error) {
      const failure = limit.signal.aborted ? failureOfAbort(limit.signal, call.model) : error;
      limit.abort(failure);
      if (failure instanceof ModelFailure) {
        health.failed(failure);
        const { idleMs } = idleTimeout;
        // Ollama may be busy, not dead: another call receives tokens, or the caller waited for something else before.
        const isBusy = idleMs < (silentMs ?? 0) || clock.monotonic() - lastTokenMs < idleMs;
        const silenceMs = !isAlive ? Infinity : isBusy ? 0 : idleMs;
        const verdict = verdictOf(failure, silenceMs);
        if (verdict !== 'failed') permit[verdict]();
        else if (counts(caller)) permit.failed(failure.message);
        else permit.cancelled();
      } else {
        permit.cancelled();
      }
      throw failure;
    }
  };
}

const freePermit = {
  kind: 'permit',
  succeeded() {},
  failed(_why: string) {},
  cancelled() {},
} as const;

function failureOfFetch(cause: unknown, { model, signal }: CallContext): ModelFailure {
  if (signal.aborted) return failureOfAbort(signal, model);
  const message = `Ollama did not answer: ${messageOf(cause)}`;
  return new ModelFailure('unreachable', message, { model, cause });
}

/** Returns the result of a failed call for the breaker. A timeout counts only after `decisiveIdleMs` of silence. */
export function verdictOf(
  { kind, cause }: ModelFailure,
  silentMs: number,
): 'succeeded' | 'failed' | 'cancelled' {
  if (kind === 'cancelled') return 'cancelled';
  if (kind === 'timeout') return silentMs >= decisiveIdleMs ? 'failed' : 'cancelled';
  if (kind === 'cut') return cause === undefined ? 'succeeded' : 'failed';
  // Any other failure is an answer of a working Ollama, such as a missing model or a full queue.
  return kind === 'unreachable' || kind === 'malformed' ? 'failed' : 'succeeded';
}

type Refusal = { readonly why: string; readonly retryAfterMs: number };

/** Returns the error of a call that the breaker of Ollama or of a provider refuses. */
export const refusalOf = (refusal: Refusal, model: string | undefined, server?: string) =>
  new ModelFailure('breaker_open', whyRefused(refusal, server), {
    model,
    retryAfterMs: refusal.retryAfterMs,
  });

/** Returns the message for a call that the breaker of Ollama or of a provider refuses. */
export function whyRefused({ why, retryAfterMs }: Refusal, server = 'Ollama'): string {
  const seconds = Math.ceil(retryAfterMs / 1000);
  return `${server} failed too often and is tried again in ${seconds} s; the last time: ${why}`;
}
