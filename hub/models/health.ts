import { type Clock, type Log } from '#core';
import { type FailureKind, ModelFailure, failureOfAbort } from './failure.ts';
import { createJoined } from './joined.ts';
import { type Alive, probe } from './probe.ts';

/** Whether Ollama answers, for /health. `since` is in milliseconds since the epoch. */
export type ModelsStatus =
  /** There is none: OLLAMA_HOST is not set. */
  | { readonly kind: 'off' }
  /** It was not asked yet. */
  | { readonly kind: 'unknown' }
  | {
      readonly kind: 'up';
      readonly since: number;
      readonly version: string;
      /** How long it took to tell its version, the last time it was asked. */
      readonly latencyMs: number;
    }
  /** It answers, and is asked nothing all the same: it failed too often, and is tried again later. */
  | { readonly kind: 'refused'; readonly error: string }
  | {
      readonly kind: 'down';
      readonly since: number;
      readonly failure: FailureKind;
      readonly error: string;
    };

/** What is known of Ollama as a whole. */
export interface Health {
  readonly status: ModelsStatus;
  /** Asks it for a sign of life, unless there was one within `youngerMs`, 5 s by default. Rejects with ModelFailure. */
  needAlive(signal: AbortSignal, youngerMs?: number): Promise<void>;
  /** It has answered a call. */
  heard(): void;
  /** A call has failed. */
  failed(failure: ModelFailure): void;
  /** Asks at once and from time to time, until the signal is aborted. Returns at once. */
  watch(signal: AbortSignal): void;
}

export type HealthOptions = {
  readonly url: string;
  /** So long a sign of life may take. */
  readonly connectMs: number;
};

/** A sign of life that is no older spares asking for another. */
const freshMs = 5_000;
const intervalMs = 30_000;

/** Nothing is asked before it is needed. */
export function createHealth(
  options: HealthOptions,
  needs: { readonly clock: Clock; readonly log: Log },
): Health {
  const { clock, log } = needs;
  const probes = createJoined<Alive>();
  let status: ModelsStatus = { kind: 'unknown' };
  let heardMs = -Infinity;

  function up({ version, latencyMs }: Alive): void {
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

  async function ask(signal: AbortSignal): Promise<void> {
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
    get status() {
      return status;
    },
    async needAlive(signal, youngerMs = freshMs) {
      if (clock.monotonic() - heardMs >= youngerMs) await ask(signal);
    },
    heard() {
      heardMs = clock.monotonic();
    },
    failed(failure) {
      if (failure.kind === 'unreachable') down(failure);
      // It may hang: the next call asks for a sign of life first.
      else if (failure.kind === 'timeout' || failure.kind === 'malformed') heardMs = -Infinity;
    },
    watch(signal) {
      let next: Disposable | undefined;
      const look = async () => {
        try {
          await ask(signal);
        } catch (error) {
          // The status has it; whatever else is thrown is a bug.
          if (!(error instanceof ModelFailure)) throw error;
        }
        if (!signal.aborted) next = clock.after(intervalMs, () => void look());
      };
      signal.addEventListener('abort', () => next?.[Symbol.dispose](), { once: true });
      void look();
    },
  };
}
