import { type Clock, type Log, createSingleFlight } from '#core';
import { type FailureKind, ModelFailure, failureOfAbort } from './failure.ts';
import { type ProbeResult, probe } from './probe.ts';

/** State of Ollama, for /health. `since` is in milliseconds since the epoch. */
export type ModelsStatus =
  /** OLLAMA_HOST is not set. */
  | { readonly kind: 'off' }
  /** Ollama was not probed yet. */
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

export type OllamaHealthOptions = {
  readonly url: string;
  /** Timeout of a probe, in ms. */
  readonly connectMs: number;
};

/** After a more recent answer, in ms, no probe is needed. */
const freshMs = 5_000;
const intervalMs = 30_000;

/** Tracks whether Ollama is reachable. Nothing is sent before it is needed. */
export function createOllamaHealth(
  options: OllamaHealthOptions,
  needs: { readonly clock: Clock; readonly log: Log },
) {
  const { clock, log } = needs;
  const probes = createSingleFlight<ProbeResult>();
  let status: ModelsStatus = { kind: 'unknown' };
  let heardMs = -Infinity;

  function up({ version, latencyMs }: ProbeResult): void {
    heardMs = clock.monotonic();
    if (status.kind !== 'up') log.info({ url: options.url, version }, 'Ollama answers');
    const since = status.kind === 'up' ? status.since : clock.now();
    status = { kind: 'up', since, version, latencyMs };
  }

  function down({ kind, message }: ModelFailure): void {
    heardMs = -Infinity;
    if (status.kind !== 'down')
      log.warn({ url: options.url, kind, error: message }, 'Ollama does not answer');
    const since = status.kind === 'down' ? status.since : clock.now();
    status = { kind: 'down', since, failure: kind, error: message };
  }

  async function probeOnce(signal: AbortSignal): Promise<void> {
    try {
      up(
        await probes.join(
          'version',
          given => probe(options.url, options.connectMs, clock, given),
          signal,
        ),
      );
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
    /** Probes Ollama, unless it was heard from within `youngerMs`. Rejects with ModelFailure. */
    async requireAlive(signal: AbortSignal, youngerMs = freshMs): Promise<void> {
      if (clock.monotonic() - heardMs >= youngerMs) await probeOnce(signal);
    },
    /** Records that Ollama answered a call. */
    heard(): void {
      heardMs = clock.monotonic();
    },
    /** Records a failed call. */
    failed(failure: ModelFailure): void {
      if (failure.kind === 'unreachable') down(failure);
      // Ollama may hang: the next call probes it first.
      else if (failure.kind === 'timeout' || failure.kind === 'malformed') heardMs = -Infinity;
    },
    /** Probes at once and then periodically, until the signal is aborted. Returns at once. */
    watch(signal: AbortSignal): void {
      let next: Disposable | undefined;
      const poll = async () => {
        try {
          await probeOnce(signal);
        } catch (error) {
          // The status shows a ModelFailure; any other error is a bug.
          if (!(error instanceof ModelFailure)) throw error;
        }
        if (!signal.aborted) next = clock.after(intervalMs, () => void poll());
      };
      signal.addEventListener('abort', () => next?.[Symbol.dispose](), { once: true });
      void poll();
    },
  };
}
