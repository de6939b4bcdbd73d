import type { ServerResponse } from 'node:http';
import { type Clock, isObject, sleep } from '#core';
import { type ModelShelf, tokensOf } from './ollama-models.ts';
import type { Asked } from './ollama-reply.ts';

/** How long the models take. Seen in Ollama 0.24.0 on a CPU, with its default settings. */
export type RunnerTimes = {
  readonly clock: Clock;
  /** To load a model that is not in memory, or that is there with another num_ctx. */
  readonly loadMs?: number;
  /** To read one token of a prompt. */
  readonly promptTokenMs?: number;
  /** To write one line of an answer. */
  readonly lineMs?: number;
  /** OLLAMA_MAX_LOADED_MODELS. */
  readonly maxLoaded?: number;
};

/**
 * The runners of an Ollama: each model works on one call at a time (OLLAMA_NUM_PARALLEL=1). As in Ollama 0.24.0:
 *
 * - Further calls wait without a word. There is no 503 below OLLAMA_MAX_QUEUE, which is 512.
 * - A call that is given up while its prompt is read is read to the end, and the next one waits for that.
 * - Another num_ctx than that of the call before restarts the runner, which loads the model again.
 */
export function createRunners(times: RunnerTimes, shelf: ModelShelf) {
  const { clock, loadMs = 0, promptTokenMs = 0, lineMs = 0, maxLoaded = Infinity } = times;
  /** The end of the last call of each model, or of all models where only one is held. */
  const ends = new Map<string, Promise<void>>();
  const contexts = new Map<string, unknown>();
  let loads = 0;
  let works = 0;

  async function work(milliseconds: number): Promise<void> {
    if (milliseconds === 0) return;
    works++;
    await sleep(milliseconds, { clock });
  }

  async function load(name: string, context: unknown): Promise<void> {
    const isLoaded = shelf.loaded().some(model => model.name === name);
    if (isLoaded && contexts.get(name) === context) return;
    contexts.set(name, context);
    loads++;
    for (const { name: other } of shelf
      .loaded()
      .slice(0, Math.max(0, shelf.loaded().length + 1 - maxLoaded)))
      shelf.unload(other);
    const model = shelf.find(name);
    if (model) shelf.load(model, undefined);
    await work(loadMs);
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
      // Nobody waits for it any more: it is left out of the queue.
      if (response.destroyed) return;
      const options = isObject(asked['options']) ? asked['options'] : {};
      await load(model.name, options['num_ctx'] ?? model.contextLength);
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
    /** Ends all work, as the end of the process does. */
    kill(): void {
      ends.clear();
      for (const { name } of shelf.loaded()) shelf.unload(name);
    },
    /** Loads so far, those of a restart included. */
    get loads() {
      return loads;
    },
    /** Waits that were begun so far: a test moves its clock after the next one. */
    get works() {
      return works;
    },
  };
}

function textOf({ messages, input }: Asked): string {
  if (!Array.isArray(messages)) return typeof input === 'string' ? input : '';
  return messages.map(message => (isObject(message) ? String(message['content']) : '')).join('\n');
}
