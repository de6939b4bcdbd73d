import { type Clock, isObject } from '#core';
import type { Caller, Client } from './call.ts';
import { ModelFailure } from './failure.ts';
import { createJoined } from './joined.ts';
import { isSameModel } from './names.ts';

/** A model that Ollama has. */
export type ModelInfo = {
  /** With its tag, `llama3.2:3b`. */
  readonly name: string;
  /** SHA-256 of its manifest: another one under the same name answers differently. */
  readonly digest: string;
  readonly sizeBytes: number;
  /** In memory, when the list was read. */
  readonly isLoaded: boolean;
  /** `completion`, `embedding`, `thinking` and more; undefined where this Ollama does not list them. */
  readonly capabilities: readonly string[] | undefined;
};

/** The models that Ollama has, as of at most 30 s ago. */
export interface Listing {
  list(signal: AbortSignal): Promise<readonly ModelInfo[]>;
  find(name: string, signal: AbortSignal): Promise<ModelInfo | undefined>;
  /** As `find`, where the list is young enough; undefined where it has to be read. */
  known(name: string): ModelInfo | undefined;
  /** As `find`, but a model that is not there is a failure. */
  get(name: string, signal: AbortSignal): Promise<ModelInfo>;
  /** A call has shown that it is in memory. */
  loaded(name: string): void;
  /** What is known is no longer so. */
  forget(): void;
}

const keptMs = 30_000;
/** A model that is missing may just have been pulled by hand. */
const missingKeptMs = 2_000;
const totalMs = 5_000;
/** A list with more is cut there. */
const maxModels = 10_000;

/** Nothing is read before it is asked for, and once at a time. */
export function createListing(
  caller: Pick<Caller, 'call'>,
  needs: { readonly clock: Clock },
): Listing {
  const { clock } = needs;
  const reading = createJoined<Kept>();
  let kept: Kept | undefined;

  const isYounger = (list: Kept | undefined, ms: number): list is Kept =>
    list !== undefined && clock.monotonic() - list.atMs < ms;

  async function listed(youngerMs: number, signal: AbortSignal): Promise<Kept> {
    if (isYounger(kept, youngerMs)) return kept;
    return await reading.join('models', read, signal);
  }

  async function read(signal: AbortSignal): Promise<Kept> {
    const models = await caller.call(
      {
        subject: 'the list of models',
        model: undefined,
        isStream: false,
        silentMs: undefined,
        totalMs,
        isGated: true,
        run: async client => parseModels(await client.list(), await loadedNames(client)),
      },
      signal,
    );
    kept = { models, atMs: clock.monotonic() };
    return kept;
  }

  const named = ({ models }: Kept, name: string) =>
    models.find(model => model.name === name || isSameModel(model.name, name));

  async function find(name: string, signal: AbortSignal): Promise<ModelInfo | undefined> {
    return (
      named(await listed(keptMs, signal), name) ?? named(await listed(missingKeptMs, signal), name)
    );
  }

  return {
    list: async signal => (await listed(keptMs, signal)).models,
    find,
    known: name => (isYounger(kept, keptMs) ? named(kept, name) : undefined),
    async get(name, signal) {
      const found = await find(name, signal);
      if (found) return found;
      throw new ModelFailure('missing', `Ollama has no model ${name}. Check its name, or pull it`, {
        model: name,
      });
    },
    loaded(name) {
      if (!kept) return;
      const models = kept.models.map(model =>
        isSameModel(model.name, name) ? { ...model, isLoaded: true } : model,
      );
      kept = { ...kept, models };
    },
    forget() {
      kept = undefined;
    },
  };
}

type Kept = { readonly models: readonly ModelInfo[]; readonly atMs: number };

/** What is in memory only tells how patient to be: where it cannot be told, nothing is. */
async function loadedNames(client: Client): Promise<readonly string[]> {
  try {
    return entriesOf(await client.ps()).map(nameOf);
  } catch (error) {
    if (error instanceof ModelFailure && error.kind !== 'cancelled' && error.kind !== 'timeout')
      return [];
    throw error;
  }
}

function parseModels(list: unknown, loaded: readonly string[]): readonly ModelInfo[] {
  return entriesOf(list).map(entry => {
    const { digest, size, capabilities } = entry;
    const name = nameOf(entry);
    return {
      name,
      digest: typeof digest === 'string' ? digest : '',
      sizeBytes: typeof size === 'number' ? size : 0,
      isLoaded: loaded.some(other => isSameModel(other, name)),
      capabilities: Array.isArray(capabilities) ? capabilities.map(String) : undefined,
    };
  });
}

type Entry = { readonly [key: string]: unknown };

function entriesOf(list: unknown): readonly Entry[] {
  const models = isObject(list) ? list['models'] : undefined;
  // An Ollama without models has been seen to say null.
  if (models === null) return [];
  if (!Array.isArray(models))
    throw new ModelFailure('malformed', 'the list of models is none. Check OLLAMA_HOST');
  return models
    .slice(0, maxModels)
    .filter(isObject)
    .filter(entry => nameOf(entry) !== '');
}

const nameOf = ({ name, model }: Entry): string =>
  typeof name === 'string' ? name : typeof model === 'string' ? model : '';
