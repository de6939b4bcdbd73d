import { type Clock, type Log, isObject, messageOf, sleep } from '#core';
import type { Engine } from './engine.ts';
import { jsonLines } from './json-lines.ts';

/** An event of a container. `resumed`: the stream was interrupted, so events may be missing. */
export type EngineEvent = 'die' | 'oom' | 'resumed';

/** The event stream of the engine, shared by all containers of a hub. */
export interface EngineEvents {
  /** Connects once, and reconnects until `stop`. Resolves when the first attempt has succeeded or failed. */
  start(): Promise<void>;
  stop(): void;
  watch(containerId: string, listener: (event: EngineEvent) => void): Disposable;
}

type Needs = {
  readonly engine: Pick<Engine, 'events' | 'address'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Called after each connect. Must not throw. */
  readonly onConnected: () => void;
};

const firstRetryMs = 200;
const lastRetryMs = 5_000;

/** Follows the events of containers with a label. */
export function createEngineEvents(label: string, needs: Needs): EngineEvents {
  const { engine, clock, log } = needs;
  const listeners = new Map<string, (event: EngineEvent) => void>();
  const stopping = new AbortController();
  let started: Promise<void> | undefined;

  async function follow(settled: () => void): Promise<void> {
    let retryMs = firstRetryMs;
    while (!stopping.signal.aborted) {
      try {
        const stream = await engine.events(label, stopping.signal);
        retryMs = firstRetryMs;
        needs.onConnected();
        for (const listener of Array.from(listeners.values())) listener('resumed');
        settled();
        for await (const event of jsonLines(stream)) dispatch(event);
        log.debug({ engine: engine.address }, 'the engine closed the event stream');
      } catch (error) {
        if (stopping.signal.aborted) break;
        log.debug(
          { engine: engine.address, problem: messageOf(error) },
          'the event stream of the engine failed',
        );
      }
      settled();
      await sleep(retryMs, { clock, signal: stopping.signal });
      retryMs = Math.min(retryMs * 2, lastRetryMs);
    }
    settled();
  }

  function dispatch(event: { readonly [key: string]: unknown }): void {
    const { Action: action, Actor: actor } = event;
    if ((action !== 'die' && action !== 'oom') || !isObject(actor)) return;
    listeners.get(String(actor['ID']))?.(action);
  }

  return {
    start() {
      if (started) return started;
      const { promise, resolve } = Promise.withResolvers<void>();
      started = promise;
      void follow(resolve);
      return promise;
    },
    stop: () => stopping.abort(),
    watch(containerId, listener) {
      listeners.set(containerId, listener);
      return { [Symbol.dispose]: () => void listeners.delete(containerId) };
    },
  };
}
