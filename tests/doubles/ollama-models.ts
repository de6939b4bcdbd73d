import { createHash } from 'node:crypto';
import { isObject } from '#core';

/** A model of the Ollama double. */
export type DoubleModel = {
  readonly name: string;
  readonly digest: string;
  readonly size: number;
  readonly capabilities: readonly string[];
  /** Maximum length of the context, in tokens. */
  readonly contextLength: number;
};

/** Creates a chat model, or an embedding model if its name contains `embed`. */
export function modelNamed(name: string, made: Partial<DoubleModel> = {}): DoubleModel {
  const isEmbedder = name.includes('embed');
  return {
    name: name.includes(':') ? name : `${name}:latest`,
    digest: createHash('sha256').update(name).digest('hex'),
    size: 2_019_393_189,
    capabilities: isEmbedder ? ['embedding'] : ['completion', 'tools'],
    contextLength: isEmbedder ? 2048 : 4096,
    ...made,
  };
}

/** Returns the field `details` of a model, as Ollama's API has it. */
export const detailsOf = ({ name, contextLength }: DoubleModel) => ({
  parent_model: '',
  format: 'gguf',
  family: name.split(/[.:]/)[0] ?? '',
  families: [name.split(/[.:]/)[0] ?? ''],
  parameter_size: '3.2B',
  quantization_level: 'Q4_K_M',
  context_length: contextLength,
});

/** Counts tokens. In the double each word is one token. */
export const tokensOf = (text: string): number => text.split(/\s+/).filter(Boolean).length;

/** Creates the models of an Ollama: those installed, those that it can pull, and those in memory. */
export function createModelShelf(names: readonly string[], pullable: readonly string[]) {
  const models = new Map(names.map(name => [modelNamed(name).name, modelNamed(name)]));
  const loaded = new Set<string>();
  /** `num_ctx` of the last load or chat of each model. */
  const contexts = new Map<string, number>();
  const fullName = (name: string) => (name.includes(':') ? name : `${name}:latest`);
  return {
    all: () => [...models.values()],
    loaded: () => [...models.values()].filter(({ name }) => loaded.has(name)),
    find: (name: string) => models.get(fullName(name)),
    isPullable: (name: string) => pullable.map(fullName).includes(fullName(name)),
    add: (model: DoubleModel) => void models.set(model.name, model),
    remove: (name: string) => models.delete(fullName(name)),
    unload: (name: string) => loaded.delete(name),
    /** Returns the context length of a loaded model, as /api/ps shows it. */
    contextOf: ({ name, contextLength }: DoubleModel) => contexts.get(name) ?? contextLength,
    /** Loads a model into memory. Returns true if it was not loaded. */
    load(model: DoubleModel, keepAlive: unknown, options?: unknown): boolean {
      const context = isObject(options) ? options['num_ctx'] : undefined;
      if (typeof context === 'number') contexts.set(model.name, context);
      const isNew = !loaded.has(model.name);
      if (keepAlive === 0 || keepAlive === '0') loaded.delete(model.name);
      else loaded.add(model.name);
      return isNew;
    },
  };
}

export type ModelShelf = ReturnType<typeof createModelShelf>;
