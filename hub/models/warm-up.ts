import { type Log, messageOf } from '#core';
import { type FailureKind, ModelFailure } from './failure.ts';
import type { ModelInfo, ModelNeeds } from './model-list.ts';
import { fullName } from './model-name.ts';
import { type OllamaClient, chatFields, keepAlive } from './ollama-call.ts';
import { atTurn, isEmbedder } from './turn.ts';

/** Timeout in ms. Ollama answers when the model is loaded: 40 GB from a hard disk take 5 minutes or more. */
const totalMs = 900_000;
/** Maximum number of concurrent warm-ups: more would evict each other from memory. */
const maxWarmUps = 8;

type WarmUpNeeds = ModelNeeds & { readonly log: Log; readonly life: AbortSignal };

/** Creates functions that load models in the background. They return at once and never throw. */
export function createWarmUps({ log, life, ...needs }: WarmUpNeeds) {
  const { modelList, callOllama } = needs;
  const loading = new Set<string>();

  async function load(info: ModelInfo, options: object, signal: AbortSignal): Promise<void> {
    const { name: model } = info;
    const body = { model, keep_alive: keepAlive, options };
    const isEmbedding = isEmbedder(info);
    const call = { subject: model, model, totalMs, isGated: true, isStream: !isEmbedding };
    // Loads the model by embedding an empty text, or by a chat without messages, whose stream has a single line.
    const run = async (client: OllamaClient) => {
      if (isEmbedding) await client.embed({ ...body, input: '', truncate: false });
      else for await (const _ of await client.chat({ ...body, ...chatFields, messages: [] }));
    };
    await callOllama({ ...call, run }, signal);
    modelList.markLoaded(model);
  }

  async function loadAndLog(name: string, work: () => Promise<void>): Promise<void> {
    const model = fullName(name);
    if (life.aborted || loading.has(model) || loading.size >= maxWarmUps) return;
    loading.add(model);
    try {
      await work();
      log.info({ model }, 'the model is loaded');
    } catch (error) {
      if (!(error instanceof ModelFailure)) throw error;
      const { kind } = error;
      const fields = { model, kind, error: messageOf(error) };
      log.info(fields, 'the model could not be loaded in advance');
    } finally {
      loading.delete(model);
    }
  }

  return {
    /** Loads a model. Pass the options of later calls: Ollama reloads a model if its num_ctx changes. */
    warmUp: (name: string, options: object): void => {
      const call = { model: fullName(name), totalMs, isLoad: true };
      const work = () => atTurn(call, life, needs, (turn, limit) => load(turn, options, limit));
      void loadAndLog(name, work);
    },
    /**
     * Loads the model of a failed call that was given up at its turn, before the model was in memory. Ollama stops
     * loading a model when its client disconnects, so that no later call would find it there. The load is not in the
     * queue: if Ollama hangs, calls fail as without it.
     */
    loadLater: (info: ModelInfo, kind: FailureKind, contextTokens: unknown): void => {
      if (info.isLoaded || modelList.cached(info.name)?.isLoaded) return;
      // Callers cancel an embedding after a short time, because they can do without it.
      const isGivenUp = kind === 'timeout' || (kind === 'cancelled' && isEmbedder(info));
      if (isGivenUp) void loadAndLog(info.name, () => load(info, { num_ctx: contextTokens }, life));
    },
  };
}
