import { type Clock, createAbortScope } from '#core';
import { ModelFailure, type Models, isEmbedder, isSameModel } from '#models';

/** The functions of Ollama's models that are needed to embed texts. */
type EmbeddingModels = Pick<Models, 'list' | 'embed'>;

export type EmbeddedText = Awaited<ReturnType<EmbeddingModels['embed']>>;

export type EmbeddingModel = ReturnType<typeof createEmbeddingModel>;

/** Prefixes for nomic-embed-text, which expects a text to begin with its purpose. */
const tasks = { tool: 'search_document: ', query: 'search_query: ' } as const;
/** Timeout of the list of models, in ms. */
const listMs = 5_000;
/** Maximum times that a text is halved if it exceeds the context. Some scripts have several tokens per character. */
const maxHalvings = 3;

/**
 * Creates an embedder of texts, which uses a model of Ollama: the preferred one if available, otherwise the smallest
 * model that can only embed. The model is chosen once per pass, so that models may be pulled and removed while the hub
 * runs.
 */
export function createEmbeddingModel(
  preferred: () => string,
  { models, clock }: { readonly models: EmbeddingModels; readonly clock: Clock },
) {
  let chosen: string | undefined;

  async function embed(
    task: keyof typeof tasks,
    text: string,
    signal: AbortSignal,
    halvings = maxHalvings,
  ): Promise<EmbeddedText> {
    if (chosen === undefined) throw new ModelFailure('missing', 'no embedding model is chosen');
    const prefix = /nomic-embed/i.test(chosen) ? tasks[task] : '';
    try {
      return await models.embed(chosen, `${prefix}${text}`, signal);
    } catch (error) {
      const isTooLong = error instanceof ModelFailure && error.kind === 'too_long';
      if (!isTooLong || halvings === 0) throw error;
      return await embed(task, text.slice(0, Math.ceil(text.length / 2)), signal, halvings - 1);
    }
  }

  return {
    get name() {
      return chosen;
    },
    /**
     * Chooses a model among those that Ollama has now. Resolves with its digest; undefined if no model can embed.
     * Rejects with ModelFailure.
     */
    async choose(signal: AbortSignal): Promise<string | undefined> {
      using limit = createAbortScope([signal], { clock, limitMs: listMs });
      const embedders = (await models.list(limit.signal)).filter(isEmbedder);
      const wanted = preferred();
      const [smallest] = embedders.toSorted((a, b) => a.sizeBytes - b.sizeBytes);
      const found = embedders.find(({ name }) => isSameModel(name, wanted)) ?? smallest;
      chosen = found?.name;
      return found?.digest;
    },
    embed: (task: keyof typeof tasks, text: string, signal: AbortSignal) =>
      embed(task, text, signal),
  };
}
