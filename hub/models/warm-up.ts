import { type Log, messageOf } from '#core';
import { ModelFailure } from './failure.ts';
import type { ModelNeeds } from './model-list.ts';
import { fullName } from './model-name.ts';
import { type OllamaClient, chatFields, keepAlive } from './ollama-call.ts';
import { atTurn, isEmbedder } from './turn.ts';

/** Timeout in ms, below the 300 s of Node's fetch. Ollama answers when the model is loaded. */
const totalMs = 290_000;
/** Maximum number of concurrent warm-ups: more would evict each other from memory. */
const maxWarmUps = 8;

type WarmUpNeeds = ModelNeeds & { readonly log: Log; readonly life: AbortSignal };

/**
 * Creates a function that loads a model in the background. It returns at once and never throws. Pass the options of
 * later calls: Ollama reloads a model if its num_ctx changes.
 */
export function createWarmUps({ log, life, ...needs }: WarmUpNeeds) {
  const loading = new Set<string>();

  async function load(name: string, options: object): Promise<void> {
    await atTurn({ model: name, totalMs, isLoad: true }, life, needs, async (turn, limit) => {
      const { name: model } = turn;
      const body = { model, keep_alive: keepAlive, options };
      const isEmbedding = isEmbedder(turn);
      const call = { subject: model, model, isGated: true, isStream: !isEmbedding };
      // Loads the model by embedding an empty text, or by a chat without messages, whose stream has a single line.
      const run = async (client: OllamaClient) => {
        if (isEmbedding) await client.embed({ ...body, input: '', truncate: false });
        else for await (const _ of await client.chat({ ...body, ...chatFields, messages: [] }));
      };
      await needs.callOllama({ ...call, run }, limit);
    });
  }

  async function loadAndLog(name: string, options: object): Promise<void> {
    try {
      await load(name, options);
      log.info({ model: name }, 'the model is loaded');
    } catch (error) {
      if (!(error instanceof ModelFailure)) throw error;
      const { kind } = error;
      const fields = { model: name, kind, error: messageOf(error) };
      log.info(fields, 'the model could not be loaded in advance');
    } finally {
      loading.delete(name);
    }
  }

  return (name: string, options: object): void => {
    const model = fullName(name);
    if (life.aborted || loading.has(model) || loading.size >= maxWarmUps) return;
    loading.add(model);
    void loadAndLog(model, options);
  };
}
