import { type Clock, createAbortScope } from '#core';
import { ModelFailure, type Models, isEmbedder } from '#models';

/** The models of an Ollama, as far as texts are embedded. */
type EmbeddingModels = Pick<Models, 'list' | 'embed'>;

export type EmbeddedText = Awaited<ReturnType<EmbeddingModels['embed']>>;

export type EmbeddingModel = ReturnType<typeof createEmbeddingModel>;

/** nomic-embed-text expects to be told what a text is for. */
const tasks = { tool: 'search_document: ', query: 'search_query: ' } as const;
/** Time in ms for the list of models. */
const listMs = 5_000;
/** Halvings of a text that does not fit into the context. Signs of some scripts are several tokens each. */
const maxHalvings = 3;

/**
 * Embeds texts by a model of Ollama: the preferred one if it is there, otherwise the smallest that only embeds. The choice
 * is made once per pass, so that a model may be pulled and removed while the hub runs.
 */
export function createEmbeddingModel(
  preferred: () => string,
  { models, clock }: { readonly models: EmbeddingModels; readonly clock: Clock },
) {
  let chosen: string | undefined;
  const isNamed = (name: string, wanted: string) => name === wanted || name === `${wanted}:latest`;

  async function embed(
    task: keyof typeof tasks,
    text: string,
    signal: AbortSignal,
    halvings = maxHalvings,
  ): Promise<EmbeddedText> {
    if (chosen === undefined) throw new ModelFailure('missing', 'no embedding model is chosen');
    const prefix = chosen.includes('nomic-embed') ? tasks[task] : '';
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
     * Chooses among the models that Ollama has now. Resolves to the digest of the model; undefined if none embeds. Rejects
     * with ModelFailure.
     */
    async choose(signal: AbortSignal): Promise<string | undefined> {
      using limit = createAbortScope([signal], { clock, limitMs: listMs });
      const embedders = (await models.list(limit.signal)).filter(isEmbedder);
      const wanted = preferred();
      const [smallest] = embedders.toSorted((a, b) => a.sizeBytes - b.sizeBytes);
      const found = embedders.find(({ name }) => isNamed(name, wanted)) ?? smallest;
      chosen = found?.name;
      return found?.digest;
    },
    embed: (task: keyof typeof tasks, text: string, signal: AbortSignal) =>
      embed(task, text, signal),
  };
}
