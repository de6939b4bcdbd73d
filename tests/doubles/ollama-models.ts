import { createHash } from 'node:crypto';
import { isObject } from '#core';

/** A model as Ollama holds it. */
export type DoubleModel = {
  readonly name: string;
  readonly digest: string;
  readonly size: number;
  readonly capabilities: readonly string[];
  /** In tokens. */
  readonly contextLength: number;
};

/** A model that chats, or one that embeds where its name says so. */
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

/** What Ollama says of a model besides its name. */
export const detailsOf = ({ name }: DoubleModel) => ({
  parent_model: '',
  format: 'gguf',
  family: name.split(/[.:]/)[0] ?? '',
  families: [name.split(/[.:]/)[0] ?? ''],
  parameter_size: '3.2B',
  quantization_level: 'Q4_K_M',
});

/** One token is about a word here. */
export const tokensOf = (text: string): number => text.split(/\s+/).filter(Boolean).length;

/** The models that an Ollama has, those that it could pull, and those in memory. */
export function createModelShelf(names: readonly string[], pullable: readonly string[]) {
  const models = new Map(names.map(name => [modelNamed(name).name, modelNamed(name)]));
  const loaded = new Set<string>();
  /** The num_ctx of the latest load or chat. */
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
    /** The context in memory, as /api/ps tells it. */
    contextOf: ({ name, contextLength }: DoubleModel) => contexts.get(name) ?? contextLength,
    /** Takes it into memory; true where it was not there. */
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
