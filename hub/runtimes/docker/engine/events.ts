import { type Clock, type Log, isObject, messageOf, sleep, tryParseJson } from '#core';
import type { Engine } from './engine.ts';

/** An event of a container. `resumed`: the stream was interrupted, so events may be missing. */
export type EngineEvent = 'die' | 'oom' | 'resumed';

type Needs = {
  readonly engine: Pick<Engine, 'events' | 'address'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Called after each connect. Must not throw. */
  readonly onConnected: () => void;
};

const firstRetryMs = 200;
const lastRetryMs = 5_000;

export type EngineEvents = ReturnType<typeof createEngineEvents>;

/** Creates the event stream of the engine for containers with a label. All containers of a hub share the stream. */
export function createEngineEvents(label: string, needs: Needs) {
  const { engine, clock, log } = needs;
  const listeners = new Map<string, (event: EngineEvent) => void>();
  const stopping = new AbortController();
  const attempted = Promise.withResolvers<void>();
  let isStarted = false;

  async function follow(): Promise<void> {
    let retryMs = firstRetryMs;
    while (!stopping.signal.aborted) {
      try {
        const stream = await engine.events(label, stopping.signal);
        retryMs = firstRetryMs;
        needs.onConnected();
        for (const listener of Array.from(listeners.values())) listener('resumed');
        attempted.resolve();
        for await (const event of jsonLines(stream)) dispatch(event);
        log.debug({ engine: engine.address }, 'the engine closed the event stream');
      } catch (error) {
        if (stopping.signal.aborted) break;
        const fields = { engine: engine.address, problem: messageOf(error) };
        log.debug(fields, 'the event stream of the engine failed');
      }
      attempted.resolve();
      await sleep(retryMs, { clock, signal: stopping.signal });
      retryMs = Math.min(retryMs * 2, lastRetryMs);
    }
    attempted.resolve();
  }

  function dispatch(event: { readonly [key: string]: unknown }): void {
    const { Action: action, Actor: actor } = event;
    if ((action !== 'die' && action !== 'oom') || !isObject(actor)) return;
    listeners.get(String(actor['ID']))?.(action);
  }

  return {
    /** Connects once, and reconnects until `stop`. Resolves when the first attempt has succeeded or failed. */
    start(): Promise<void> {
      if (!isStarted) void follow();
      isStarted = true;
      return attempted.promise;
    },
    stop: () => stopping.abort(),
    watch(containerId: string, listener: (event: EngineEvent) => void): Disposable {
      listeners.set(containerId, listener);
      return { [Symbol.dispose]: () => void listeners.delete(containerId) };
    },
  };
}

/** Parses a stream of one JSON object per line: events, and the progress of builds and pulls. */
export async function* jsonLines(
  stream: NodeJS.ReadableStream,
): AsyncGenerator<{ readonly [key: string]: unknown }> {
  stream.setEncoding('utf8');
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const value = tryParseJson(line);
      if (isObject(value)) yield value;
    }
  }
  const value = tryParseJson(rest);
  if (isObject(value)) yield value;
}
