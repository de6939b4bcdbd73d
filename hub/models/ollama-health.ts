import type { IncomingMessage } from 'node:http';
import {
  type Clock,
  type Log,
  createAbortScope,
  createSingleFlight,
  durationText,
  http,
  https,
  isObject,
  messageOf,
  tryParseJson,
} from '#core';
import { type FailureKind, ModelFailure, failureOfAbort } from './failure.ts';

/** State of Ollama, for /health. `since` is in milliseconds since the epoch. */
export type ModelsStatus =
  /** OLLAMA_HOST is not set. */
  | { readonly kind: 'off' }
  | { readonly kind: 'unknown' }
  | {
      readonly kind: 'up';
      readonly since: number;
      readonly version: string;
      /** Duration of the last probe, in ms. */
      readonly latencyMs: number;
    }
  /** Ollama answers, but the circuit breaker is open after repeated failures. */
  | { readonly kind: 'refused'; readonly error: string }
  | {
      readonly kind: 'down';
      readonly since: number;
      readonly failure: FailureKind;
      readonly error: string;
    };

export type OllamaHealth = ReturnType<typeof createOllamaHealth>;

type HealthNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  /** Called whenever Ollama responds. */
  readonly alive: () => void;
};

/** Time in ms after a response of Ollama during which no probe is needed. */
const freshMs = 5_000;
/** Timeout of a probe, in milliseconds. */
const connectMs = 1_000;
const intervalMs = 30_000;
/** Interval of probes in ms after a failed probe or call. Short, so that prompts need not wait once Ollama is back. */
const watchMs = 2_000;

/** Tracks whether Ollama is reachable. Sends nothing before a call needs it. */
export function createOllamaHealth(url: string, { clock, log, alive }: HealthNeeds) {
  const probes = createSingleFlight<ProbeResult>();
  let status: ModelsStatus = { kind: 'unknown' };
  let heardMs = -Infinity;
  /** Brings the next periodic probe forward. */
  let probeSoon = () => {};

  function up({ version, latencyMs }: ProbeResult): void {
    heardMs = clock.monotonic();
    if (status.kind !== 'up') log.info({ url, version }, 'Ollama answers');
    const since = status.kind === 'up' ? status.since : clock.now();
    status = { kind: 'up', since, version, latencyMs };
    alive();
  }

  function down({ kind, message }: ModelFailure): void {
    heardMs = -Infinity;
    if (status.kind !== 'down') log.warn({ url, kind, error: message }, 'Ollama does not answer');
    const since = status.kind === 'down' ? status.since : clock.now();
    status = { kind: 'down', since, failure: kind, error: message };
  }

  async function probeOnce(signal: AbortSignal): Promise<void> {
    try {
      const send = (ended: AbortSignal) => probe(url, connectMs, clock, ended);
      up(await probes.join('version', send, signal));
    } catch (error) {
      if (signal.aborted) throw failureOfAbort(signal, undefined);
      if (error instanceof ModelFailure) down(error);
      throw error;
    }
  }

  return {
    get status(): ModelsStatus {
      return status;
    },
    /** Probes Ollama, unless it responded within the last `youngerMs`. Rejects with ModelFailure. */
    async requireAlive(signal: AbortSignal, youngerMs = freshMs): Promise<void> {
      if (clock.monotonic() - heardMs >= youngerMs) await probeOnce(signal);
    },
    heard(): void {
      heardMs = clock.monotonic();
      alive();
    },
    failed(failure: ModelFailure): void {
      if (failure.kind === 'unreachable') down(failure);
      // Ollama may hang, so the next call probes it first.
      else if (failure.kind === 'timeout' || failure.kind === 'malformed') heardMs = -Infinity;
      else return;
      probeSoon();
    },
    /** Probes at once and then periodically, until the signal is aborted. Returns at once. */
    watch(signal: AbortSignal): void {
      let next: Disposable | undefined;
      let dueMs = Infinity;
      const poll = async () => {
        try {
          await probeOnce(signal);
        } catch (error) {
          // A ModelFailure is shown in the status; any other error is a bug.
          if (!(error instanceof ModelFailure)) throw error;
        }
        schedule(status.kind === 'up' ? intervalMs : watchMs);
      };
      const schedule = (delayMs: number) => {
        next?.[Symbol.dispose]();
        if (signal.aborted) return;
        dueMs = clock.monotonic() + delayMs;
        next = clock.after(delayMs, () => void poll());
      };
      probeSoon = () => {
        if (dueMs > clock.monotonic() + watchMs) schedule(watchMs);
      };
      signal.addEventListener('abort', () => next?.[Symbol.dispose](), { once: true });
      void poll();
    },
  };
}

type ProbeResult = { readonly version: string; readonly latencyMs: number };

/**
 * Requests the version of Ollama, which answers this at once even under load. Uses node:http, so that neither Node's
 * fetch nor the `ollama` package (14 MB) is loaded until a model is used. Rejects with ModelFailure.
 */
async function probe(
  url: string,
  withinMs: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const startedMs = clock.monotonic();
  using scope = createAbortScope([signal], {
    clock,
    limitMs: withinMs,
    reason: () =>
      new ModelFailure(
        'timeout',
        `Ollama at ${url} did not report its version within ${durationText(withinMs)}`,
      ),
  });
  try {
    const address = new URL(`${url.replace(/\/$/, '')}/api/version`);
    const version = await readVersion(await get(address, scope.signal));
    return { version, latencyMs: clock.monotonic() - startedMs };
  } catch (cause) {
    if (scope.signal.aborted) throw failureOfAbort(scope.signal, undefined);
    if (cause instanceof ModelFailure) throw cause;
    throw new ModelFailure(
      'unreachable',
      `Ollama cannot be reached at ${url}: ${messageOf(cause)}. Start it, or correct OLLAMA_HOST`,
      { cause },
    );
  }
}

async function get(url: URL, signal: AbortSignal): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const { get: request } = url.protocol === 'https:' ? https : http;
  request(url, { agent: false, signal }, resolve).on('error', reject);
  return await promise;
}

async function readVersion(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of answer.setEncoding('utf8')) {
    text += String(chunk);
    if (text.length > maxAnswerLength) break;
  }
  const status = answer.statusCode ?? 0;
  if (status >= 500)
    throw new ModelFailure('unreachable', `a proxy in front of Ollama answered ${status}`);
  const parsed = tryParseJson(text);
  const version = isObject(parsed) ? parsed['version'] : undefined;
  if (status !== 200 || typeof version !== 'string')
    throw new ModelFailure(
      'malformed',
      `the server there (status ${status}) is not Ollama. Correct OLLAMA_HOST or OLLAMA_PORT`,
    );
  return version;
}

const maxAnswerLength = 64 * 1024;
