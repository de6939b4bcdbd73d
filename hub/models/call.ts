import { type Clock, messageOf } from '#core';
import { checkLines, checkWhole, failureOfResponse } from './body.ts';
import { ModelFailure, failureOfAbort } from './failure.ts';
import type { Health } from './health.ts';
import { createLimit } from './limit.ts';
import { type Silence, watchSilence } from './silence.ts';

/** Decides whether Ollama is called at all. A breaker of #resilience is one. */
export interface ModelBreaker {
  /** Exactly one of a permit's three is called when the call is over. */
  claim():
    | {
        readonly kind: 'permit';
        succeeded(): void;
        failed(why: string): void;
        cancelled(): void;
      }
    | { readonly kind: 'refused'; readonly retryAfterMs: number; readonly why: string };
  /** `until` is when a call is tried again, in milliseconds since the epoch; defined while none is let through. */
  snapshot(): { readonly until: number | undefined; readonly why: string | undefined };
}

/** What is used of the package's client. What it answers is parsed where it is read. */
export interface Client {
  chat(request: {
    readonly model: string;
    readonly messages: { readonly role: string; readonly content: string }[];
    readonly stream: true;
    readonly options: object;
  }): Promise<AsyncIterable<unknown>>;
  embed(request: {
    readonly model: string;
    readonly input: string;
    readonly truncate: boolean;
  }): Promise<unknown>;
  list(): Promise<unknown>;
  ps(): Promise<unknown>;
  pull(request: { readonly model: string; readonly stream: true }): Promise<AsyncIterable<unknown>>;
}

/** One call of Ollama's API. */
export type Call<T> = {
  /** What it is for, in words for messages: "llama3.2:3b", "the list of models". */
  readonly subject: string;
  readonly model: string | undefined;
  /** The answer is a stream of lines. */
  readonly isStream: boolean;
  /** The longest silence, before the answer and within it; undefined is for ever. */
  readonly silentMs: number | undefined;
  readonly totalMs: number | undefined;
  /** False for what is none of the breaker's business. */
  readonly isGated: boolean;
  /** Rejects with ModelFailure. `heard` is called at each sign of progress. */
  run(client: Client, heard: () => void): Promise<T>;
};

/** Makes calls. Each has an abort and deadlines of its own, which the package's client lacks. */
export interface Caller {
  /** Rejects with ModelFailure. */
  call<T>(call: Call<T>, signal: AbortSignal): Promise<T>;
}

export type CallNeeds = {
  readonly clock: Clock;
  readonly fetch: typeof globalThis.fetch;
  readonly breaker: ModelBreaker;
  readonly health: Pick<Health, 'needAlive' | 'heard' | 'failed'>;
  /** Ends every call. */
  readonly life: AbortSignal;
};

/** A silence that is shorter says nothing about Ollama: whoever waited may have been in a hurry. */
const tellingSilenceMs = 5_000;
/** So long the end of an answer may come after its last line. */
const endMs = 1_000;

/** Opens nothing; the package is loaded at the first call. */
export function createCaller(options: { readonly url: string }, needs: CallNeeds): Caller {
  const { clock, breaker, health } = needs;

  async function once<T>(call: Call<T>, signal: AbortSignal): Promise<T> {
    const permit = call.isGated ? breaker.claim() : openPermit;
    if (permit.kind === 'refused') throw new ModelFailure('breaker_open', whyRefused(permit), call);
    const late = (how: string) => new ModelFailure('timeout', `${call.subject} ${how}`, call);
    const { totalMs, silentMs } = call;
    using limit = createLimit(
      [signal, needs.life],
      totalMs === undefined
        ? undefined
        : { clock, ms: totalMs, late: () => late(`was not done within ${totalMs / 1000} s`) },
    );
    using silence = watchSilence(silentMs, clock, () =>
      limit.abort(late(`was silent for ${(silentMs ?? 0) / 1000} s`)),
    );
    let isAlive = false;
    const guarded: typeof globalThis.fetch = async (input, init) =>
      await exchange(() => needs.fetch(input, { ...init, signal: limit.signal }), call, {
        silence,
        signal: limit.signal,
      });
    try {
      await health.needAlive(limit.signal);
      isAlive = true;
      const { Ollama } = await import('ollama');
      const client: Client = new Ollama({ host: options.url, fetch: guarded });
      const result = await call.run(client, () => silence.heard());
      permit.succeeded();
      health.heard();
      // The end of an answer usually comes with its last line. Without it, the connection is closed.
      clock.after(endMs, () => limit.abort(new Error('nobody reads it any more')));
      return result;
    } catch (error) {
      const failure = limit.signal.aborted ? failureOfAbort(limit.signal, call.model) : error;
      limit.abort(failure);
      if (failure instanceof ModelFailure) {
        health.failed(failure);
        const verdict = verdictOf(failure, isAlive ? silence.sinceMs : Infinity);
        if (verdict === 'failed') permit.failed(failure.message);
        else permit[verdict]();
      } else {
        permit.cancelled();
      }
      throw failure;
    }
  }

  return { call: once };
}

const openPermit = {
  kind: 'permit',
  succeeded() {},
  failed(_why: string) {},
  cancelled() {},
} as const;

/** One request and its answer, checked; rejects with ModelFailure and leaves nothing to the package to say. */
async function exchange(
  send: () => Promise<Response>,
  call: Pick<Call<unknown>, 'model' | 'isStream'>,
  watch: { readonly silence: Silence; readonly signal: AbortSignal },
): Promise<Response> {
  const about = { model: call.model, signal: watch.signal };
  let response;
  try {
    response = await send();
  } catch (cause) {
    if (watch.signal.aborted) throw failureOfAbort(watch.signal, call.model);
    const kind = /HeadersTimeout/.test(causeNameOf(cause)) ? 'timeout' : 'unreachable';
    throw new ModelFailure(kind, `Ollama did not answer: ${messageOf(cause)}`, {
      model: call.model,
      cause,
    });
  }
  watch.silence.heard();
  if (!response.ok) throw await failureOfResponse(response, about);
  return call.isStream ? checkLines(response, about) : await checkWhole(response, about);
}

/** Node's fetch gives up by itself after 300 s without an answer. */
const causeNameOf = (error: unknown): string =>
  error instanceof Error && error.cause instanceof Error ? error.cause.name : '';

/** What a failure tells of Ollama as a whole: nothing, where it is one of a caller in a hurry. */
function verdictOf(
  { kind, cause }: ModelFailure,
  silentMs: number,
): 'succeeded' | 'failed' | 'cancelled' {
  if (kind === 'cancelled') return 'cancelled';
  if (kind === 'timeout') return silentMs >= tellingSilenceMs ? 'failed' : 'cancelled';
  if (kind === 'cut') return cause === undefined ? 'succeeded' : 'failed';
  // Any other answer is one: of a model that is missing, of a queue that is full.
  return kind === 'unreachable' || kind === 'malformed' ? 'failed' : 'succeeded';
}

/** Why nothing is asked of Ollama for so many milliseconds. */
export function whyRefused({
  why,
  retryAfterMs,
}: {
  readonly why: string;
  readonly retryAfterMs: number;
}): string {
  const seconds = Math.ceil(retryAfterMs / 1000);
  return `Ollama failed too often and is tried again in ${seconds} s; the last time: ${why}`;
}
