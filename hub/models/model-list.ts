import { type Clock, createSingleFlight, isObject } from '#core';
import type { Absences } from './absence.ts';
import { createCapabilities } from './capabilities.ts';
import { type FailureKind, ModelFailure } from './failure.ts';
import type { createModelCounts } from './model-counts.ts';
import { isSameModel } from './model-name.ts';
import type { ModelCaller, createModelQueue } from './model-queue.ts';
import type { createPaces } from './pace.ts';
import type { CallOllama, OllamaClient } from './ollama-call.ts';

export type ModelInfo = {
  /** Name with tag, such as `llama3.2:3b`. */
  readonly name: string;
  /** SHA-256 digest of the manifest. A different digest under the same name is a different model. */
  readonly digest: string;
  readonly sizeBytes: number;
  /** Whether the model was in memory when the list was read. */
  readonly isLoaded: boolean;
  /** `completion`, `embedding`, `thinking` and others; undefined if Ollama did not report them. */
  readonly capabilities: readonly string[] | undefined;
  /** Context size in tokens that the model was trained with, to which Ollama reduces a larger `num_ctx`. */
  readonly trainedTokens?: number;
};

export type ModelNeeds = {
  readonly clock: Clock;
  readonly callOllama: CallOllama;
  readonly modelList: ReturnType<typeof createModelList>;
  readonly absences: Absences;
  readonly counts: ReturnType<typeof createModelCounts>;
  readonly queue: ReturnType<typeof createModelQueue>;
  readonly paces: ReturnType<typeof createPaces>;
  /** Called with the failure of a call that had its turn in the queue. Absent for calls that only load a model. */
  readonly loadLater?: (model: ModelInfo, kind: FailureKind, contextTokens: unknown) => void;
};

const maxAgeMs = 30_000;
/** Maximum age in ms of a list that lacks a wanted model. Short, because the user may just have pulled the model. */
const maxAgeOfMissingMs = 2_000;
const totalMs = 5_000;
/** Timeout in ms of the request for the models in memory. Short, because a prompt waits for it. */
const loadedMs = 500;
const maxModels = 10_000;

/** Creates the list of the models in Ollama, cached for at most 30 s. It is read on demand, one request at a time. */
export function createModelList({
  callOllama,
  clock,
  absences,
}: Pick<ModelNeeds, 'callOllama' | 'clock' | 'absences'>) {
  const reading = createSingleFlight<Snapshot>();
  const capabilitiesOf = createCapabilities({ callOllama, clock });
  let snapshot: Snapshot | undefined;
  /** Incremented by `invalidate`. A list that was requested in an earlier epoch is not cached. */
  let epoch = 0;

  const isYounger = (list: Snapshot | undefined, ms: number): list is Snapshot =>
    list !== undefined && clock.monotonic() - list.atMs < ms;

  async function current(
    youngerMs: number,
    signal: AbortSignal,
    caller?: ModelCaller,
  ): Promise<Snapshot> {
    if (isYounger(snapshot, youngerMs)) return snapshot;
    return await reading.join(String(epoch), given => read(given, caller), signal);
  }

  async function read(signal: AbortSignal, caller: ModelCaller | undefined): Promise<Snapshot> {
    const before = epoch;
    const run = async (client: OllamaClient) =>
      parseModels(await client.list(), await loadedNames(client));
    const call = { subject: 'the list of models', totalMs, isGated: true, caller, run };
    const models = await callOllama(call, signal);
    const made = { models, atMs: clock.monotonic() };
    if (epoch === before) snapshot = made;
    return made;
  }

  const findIn = ({ models }: Snapshot, name: string) =>
    models.find(model => isSameModel(model.name, name));

  async function find(
    name: string,
    signal: AbortSignal,
    caller?: ModelCaller,
  ): Promise<ModelInfo | undefined> {
    const found =
      findIn(await current(maxAgeMs, signal, caller), name) ??
      findIn(await current(maxAgeOfMissingMs, signal, caller), name);
    return found && (await capabilitiesOf(found, signal));
  }

  /** Returns the failure of a call to a model that Ollama does not have, with the way to get it. */
  const missing = (name: string, cause?: unknown): ModelFailure => {
    const message = `Ollama has no model ${name}. ${absences.of(name).remedy}`;
    return new ModelFailure('missing', message, { model: name, cause });
  };

  return {
    async list(signal: AbortSignal): Promise<readonly ModelInfo[]> {
      const models: ModelInfo[] = [];
      // One after the other, as each model may need a request.
      for (const model of (await current(maxAgeMs, signal)).models)
        models.push(await capabilitiesOf(model, signal));
      return models;
    },
    find,
    /** Like `find`, but reads only the cache; undefined if the cache is too old. */
    cached: (name: string) => (isYounger(snapshot, maxAgeMs) ? findIn(snapshot, name) : undefined),
    /** Like `find`, but rejects with ModelFailure (`missing`) if the model does not exist. */
    async get(name: string, signal: AbortSignal, caller?: ModelCaller): Promise<ModelInfo> {
      const found = await find(name, signal, caller);
      if (found) return found;
      throw missing(name);
    },
    missing,
    /** Names of the models in memory now; empty if Ollama does not answer in time. Never rejects. */
    async loaded(signal: AbortSignal): Promise<readonly string[]> {
      const call = { subject: 'the models in memory', totalMs: loadedMs, isGated: false };
      // A failure is ignored: the names only decide how later calls are grouped, and the current call is complete.
      return await callOllama({ ...call, run: loadedNames }, signal).catch(() => []);
    },
    markLoaded(name: string): void {
      if (!snapshot) return;
      const models = snapshot.models.map(model =>
        isSameModel(model.name, name) ? { ...model, isLoaded: true } : model,
      );
      snapshot = { ...snapshot, models };
    },
    invalidate(): void {
      epoch++;
      snapshot = undefined;
    },
  };
}

type Snapshot = { readonly models: readonly ModelInfo[]; readonly atMs: number };

/** Names of the models in memory. They only affect timeouts, so errors other than timeouts return an empty list. */
async function loadedNames(client: OllamaClient): Promise<readonly string[]> {
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
    const { digest, size, details } = entry;
    const trainedTokens = isObject(details) ? details['context_length'] : undefined;
    const name = nameOf(entry);
    return {
      name,
      digest: typeof digest === 'string' ? digest : '',
      sizeBytes: typeof size === 'number' ? size : 0,
      isLoaded: loaded.some(other => isSameModel(other, name)),
      capabilities: listedCapabilities(entry),
      ...(typeof trainedTokens === 'number' && trainedTokens > 0 && { trainedTokens }),
    };
  });
}

/**
 * Returns the capabilities in a list; undefined if it has none, or if Ollama could not read the file of the model. Then
 * (seen in 0.33, with an embedding model that `ollama create` converted) it lists `completion`, and no context length.
 */
function listedCapabilities({ capabilities, details }: OllamaEntry): readonly string[] | undefined {
  if (!Array.isArray(capabilities)) return undefined;
  return isObject(details) && !details['context_length'] ? undefined : capabilities.map(String);
}

type OllamaEntry = { readonly [key: string]: unknown };

function entriesOf(list: unknown): readonly OllamaEntry[] {
  const models = isObject(list) ? list['models'] : undefined;
  // Some Ollama versions return null if there are no models.
  if (models === null) return [];
  if (!Array.isArray(models))
    throw new ModelFailure('malformed', 'the answer is not a list of models. Check OLLAMA_HOST');
  const entries = models.slice(0, maxModels).filter(isObject);
  return entries.filter(entry => nameOf(entry) !== '');
}

const nameOf = ({ name, model }: OllamaEntry): string =>
  typeof name === 'string' ? name : typeof model === 'string' ? model : '';
