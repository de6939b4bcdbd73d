import type { ServerResponse } from 'node:http';
import { type Clock, isObject, sleep } from '#core';
import { type ModelShelf, tokensOf } from './ollama-models.ts';
import type { Asked } from './ollama-reply.ts';

/** Times that models take for their work. Observed in Ollama 0.24.0 on a CPU, with its default settings. */
export type RunnerTimes = {
  readonly clock: Clock;
  /** Time in ms to load a model that is not in memory, or that is loaded with another `num_ctx` or `shift`. */
  readonly loadMs?: number;
  /** Time to read one token of a prompt, in ms. */
  readonly promptTokenMs?: number;
  /** Time to write one line of an answer, in ms. */
  readonly lineMs?: number;
  /** Maximum number of models in memory (OLLAMA_MAX_LOADED_MODELS). */
  readonly maxLoaded?: number;
};

/**
 * Creates the runners of an Ollama. Each model works on one call at a time (OLLAMA_NUM_PARALLEL=1). In Ollama 0.24.0:
 *
 * - Further calls wait without an answer. There is no 503 below OLLAMA_MAX_QUEUE, which is 512.
 * - If a client disconnects while its model is loaded, the load is dropped.
 * - If a client disconnects while its prompt is read, the prompt is still read to the end, and the next call waits.
 * - A call with another `num_ctx` than the call before restarts the runner, which loads the model again. Since 0.30, so
 *   does a chat with another `shift`, which is true by default.
 */
export function createRunners(times: RunnerTimes, shelf: ModelShelf) {
  const { clock, loadMs = 0, promptTokenMs = 0, lineMs = 0, maxLoaded = Infinity } = times;
  /** End of the last call of each model. With `maxLoaded` 1 all models share one entry. */
  const ends = new Map<string, Promise<void>>();
  /** The options with which each runner was started. */
  const launches = new Map<string, string>();
  let loads = 0;
  let works = 0;

  async function work(milliseconds: number): Promise<void> {
    if (milliseconds === 0) return;
    works++;
    await sleep(milliseconds, { clock });
  }

  async function load(name: string, launch: string, response: ServerResponse): Promise<void> {
    const isLoaded = shelf.loaded().some(model => model.name === name);
    if (isLoaded && launches.get(name) === launch) return;
    launches.set(name, launch);
    loads++;
    for (const { name: other } of shelf
      .loaded()
      .slice(0, Math.max(0, shelf.loaded().length + 1 - maxLoaded)))
      shelf.unload(other);
    const model = shelf.find(name);
    if (model) shelf.load(model, undefined);
    await work(loadMs);
    if (response.destroyed) shelf.unload(name);
  }

  async function run(
    asked: Asked,
    response: ServerResponse,
    answer: (before: (line: number) => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const model = shelf.find(String(asked['model']));
    if (!model) return await answer(async () => {});
    const key = maxLoaded === 1 ? 'all' : model.name;
    const before = ends.get(key);
    const { promise, resolve } = Promise.withResolvers<void>();
    ends.set(key, promise);
    await before;
    try {
      // The client disconnected while the call waited, so the call is skipped.
      if (response.destroyed) return;
      const options = isObject(asked['options']) ? asked['options'] : {};
      const { num_ctx: context = model.contextLength } = options;
      await load(model.name, JSON.stringify([context, asked['shift'] ?? true]), response);
      await work(promptTokenMs * tokensOf(textOf(asked)));
      if (!response.destroyed)
        await answer(async () => {
          if (!response.destroyed) await work(lineMs);
        });
    } finally {
      resolve();
    }
  }

  return {
    run,
    /** Drops all calls and unloads all models, as when the process exits. */
    kill(): void {
      ends.clear();
      for (const { name } of shelf.loaded()) shelf.unload(name);
    },
    /** Number of loads so far, including those of restarts. */
    get loads() {
      return loads;
    },
    /** Number of delays started so far. A test moves its clock after the next delay has started. */
    get works() {
      return works;
    },
  };
}

function textOf({ messages, input }: Asked): string {
  if (!Array.isArray(messages)) return typeof input === 'string' ? input : '';
  return messages.map(message => (isObject(message) ? String(message['content']) : '')).join('\n');
}
