import { HubError, silent, systemClock } from '../../../hub/core/index.ts';
import {
  createChats,
  createContextSizes,
  createModelCounts,
  createModelRuns,
  createModels,
  patientFetch,
} from '../../../hub/models/index.ts';
import { ModelError, type ModelSource, modelErrorOf } from './models-types.ts';
import { modelList, runResult } from './results.ts';
import type { Settings } from './settings.ts';

/** Name of the OpenAI-compatible endpoint as a provider. Names of its models are shown without this prefix. */
const endpoint = 'endpoint';

/** Creates access to the models of the settings, with the code that the hub uses for its models. */
export function createOwnModels({ place, maxSeconds }: Settings): ModelSource {
  const isOpenAi = place.kind === 'openai';
  const ended = new AbortController();
  const system = { clock: systemClock, log: silent, fetch: patientFetch };
  const counts = createModelCounts();
  const models = createModels(
    { url: isOpenAi ? undefined : place.url, parallel: undefined },
    { ...system, breaker: alwaysClosed },
  );
  const contextTokens = isOpenAi ? 0 : place.contextTokens;
  const provider = { keyFault: undefined, contextTokens: undefined, parallel: 4 };
  const chats = createChats(
    () => ({
      defaultModel: undefined,
      timeoutMs: maxSeconds * 1_000,
      silentMs: maxSeconds * 1_000,
      providers: new Map(
        isOpenAi ? [[endpoint, { ...provider, url: place.url, key: place.key }]] : [],
      ),
    }),
    {
      ...system,
      models,
      contextSizes: createContextSizes({
        ofRules: () => undefined,
        ofChats: () => contextTokens,
      }),
      newId: () => crypto.randomUUID(),
      createBreaker: () => alwaysClosed,
      counts,
      life: ended.signal,
    },
  );
  const runs = createModelRuns(chats);
  const caller = { client: 'ollama-mcp', kind: 'server' } as const;
  const prefix = `${endpoint}/`;
  const shown = (name: string) => (name.startsWith(prefix) ? name.slice(prefix.length) : name);

  return {
    async run({ model, ...request }, progress, signal) {
      const named = { ...request, model: isOpenAi ? prefix + model : model };
      const result = await asOwn(runs.run(named, { caller, progress }, signal));
      const read = runResult.parse(result);
      return { ...read, model: shown(read.model) };
    },
    async list(signal) {
      const result = modelList.parse(await asOwn(runs.list(signal)));
      const source = isOpenAi ? 'openai' : 'ollama';
      const given = isOpenAi ? endpoint : source;
      return {
        models: result.models.map(one => ({ ...one, name: shown(one.name), source })),
        // Of Ollama and the endpoint only one is set: omit the other.
        unavailable: result.unavailable
          .filter(one => one.source === given)
          .map(({ message }) => ({ source, message: withoutConfig(message) })),
      };
    },
  };
}

const alwaysClosed = {
  claim: () => ({ kind: 'permit', succeeded() {}, failed() {}, cancelled() {} }) as const,
  snapshot: () => ({ state: 'closed', until: undefined, why: undefined }) as const,
  reset() {},
};

async function asOwn<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof HubError)
      throw modelErrorOf(withoutConfig(error.message), { code: error.code, ...error.data });
    throw error instanceof Error ? new ModelError('failed', error.message) : error;
  }
}

/** Replaces names of settings of a hub in a message by the environment variables of this server. */
const withoutConfig = (message: string): string =>
  message
    .replaceAll(`models.providers.${endpoint}.url`, 'OPENAI_BASE_URL')
    .replaceAll(`models.providers.${endpoint}.key`, 'OPENAI_API_KEY')
    .replaceAll(`${endpoint}/`, '')
    .replace(/ or POST \/ollama\/models\/\S+/, '')
    .replace(/ in the config\b/, '');
