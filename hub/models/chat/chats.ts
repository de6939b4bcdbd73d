import { isDeepStrictEqual } from 'node:util';
import { ModelFailure } from '../failure.ts';
import type { ModelBreaker } from '../ollama-call.ts';
import type { ModelInfo } from '../model-list.ts';
import type { QueueLength } from '../model-queue.ts';
import type { Models } from '../models.ts';
import {
  type Provider,
  type ProviderNeeds,
  type ProviderSettings,
  createProvider,
} from '../providers/provider.ts';
import type { ChatAnswer, ChatRequest } from './chat-types.ts';
import type { ContextSizes } from './context-sizes.ts';

/** All models that can chat: those of Ollama and of the providers. */
export interface Chats {
  /** Model for chats that name none; undefined if neither the config nor OLLAMA_HOST gives one. */
  readonly defaultModel: string | undefined;
  /** Sends a chat to its model. Rejects with ModelFailure. */
  chat(request: ChatRequest, signal: AbortSignal): Promise<ChatAnswer>;
  /** True if Ollama has this model and it can chat; false if Ollama does not answer. Rejects only if cancelled. */
  isLocal(model: string, signal: AbortSignal): Promise<boolean>;
  /**
   * Returns why Ollama cannot chat with this model, with the remedy; undefined if it can, or does not answer, or the
   * model belongs to a provider. Rejects only if cancelled.
   */
  findFault(model: string, signal: AbortSignal): Promise<string | undefined>;
  /** Context size of a model in tokens; undefined if unknown. Never rejects. */
  contextTokens(model: string): Promise<number | undefined>;
  /** Number of current calls to the models of providers. */
  queues(): readonly QueueLength[];
  /** Lists all models, and the sources that could not be listed. Rejects only if cancelled. */
  list(signal: AbortSignal): Promise<ModelListing>;
  /** Names of all known models that can chat; for a provider only its prefix `provider/`. Never rejects. */
  names(signal: AbortSignal): Promise<readonly string[]>;
}

/** A model that clients can call. */
export type ListedModel = {
  /** Name as used in requests, including the provider if the model belongs to one. */
  readonly name: string;
  /** `ollama`, or the name of the provider. */
  readonly source: string;
  readonly sizeBytes?: number;
  readonly isLoaded?: boolean;
  readonly capabilities?: readonly string[];
  readonly contextTokens?: number;
};

type ModelListing = {
  readonly models: readonly ListedModel[];
  /** Sources whose models could not be listed now, each with the reason. */
  readonly unavailable: readonly { readonly source: string; readonly message: string }[];
};

type ChatSettings = {
  readonly defaultModel: string | undefined;
  /** Timeout of one call in ms, including the time in the queue. */
  readonly timeoutMs: number;
  /** Maximum time in ms without a token in a chat. Ollama may load the model first. */
  readonly silentMs: number;
  /** Providers by name. A model `name/model` belongs to the provider `name`. */
  readonly providers: ReadonlyMap<
    string,
    ProviderSettings & { readonly contextTokens: number | undefined }
  >;
};

type ChatsNeeds = Omit<ProviderNeeds, 'breaker'> & {
  readonly models: Pick<Models, 'absence' | 'chat' | 'find' | 'list'>;
  readonly contextSizes: Pick<ContextSizes, 'forChat' | 'ofChat'>;
  readonly createBreaker: () => ModelBreaker;
};

/** Creates the chats. The settings are read at each call, so that a change applies to the next call. */
export function createChats(settings: () => ChatSettings, needs: ChatsNeeds): Chats {
  const { models, contextSizes, newId, createBreaker, life } = needs;
  const providers = new Map<string, Provider & { readonly settings: ProviderSettings }>();

  /** Returns the provider that a model name begins with, and the name of the model at this provider. */
  function providerOf(model: string): readonly [Provider, string] | undefined {
    const at = model.indexOf('/');
    const name = model.slice(0, Math.max(0, at));
    const wanted = settings().providers.get(name);
    if (!wanted) return undefined;
    const known = providers.get(name);
    if (known && isDeepStrictEqual(known.settings, wanted)) return [known, model.slice(at + 1)];
    const made = createProvider(name, wanted, { ...needs, breaker: createBreaker() });
    providers.set(name, { ...made, settings: wanted });
    return [made, model.slice(at + 1)];
  }

  /** Finds a model of Ollama; `unknown` if Ollama does not answer. Rejects only if cancelled. */
  async function findLocal(model: string, signal: AbortSignal) {
    try {
      return await models.find(model, signal);
    } catch (error) {
      if (error instanceof ModelFailure && error.kind !== 'cancelled') return 'unknown';
      throw error;
    }
  }

  async function ofOllama(signal: AbortSignal): Promise<readonly ListedModel[]> {
    return (await models.list(signal)).map(({ name, sizeBytes, isLoaded, capabilities }) => ({
      name,
      source: 'ollama',
      sizeBytes,
      isLoaded,
      ...(capabilities && { capabilities }),
    }));
  }

  async function ofProvider(source: string, signal: AbortSignal): Promise<readonly ListedModel[]> {
    const contextTokens = settings().providers.get(source)?.contextTokens;
    const [provider] = providerOf(`${source}/`) ?? [];
    return ((await provider?.models(signal)) ?? []).map(name => ({
      name: `${source}/${name}`,
      source,
      ...(contextTokens !== undefined && { contextTokens }),
    }));
  }

  return {
    get defaultModel() {
      return settings().defaultModel;
    },
    async chat(request, signal) {
      const { model } = request;
      const { timeoutMs = Infinity } = request;
      const { timeoutMs: maxMs, silentMs } = settings();
      const limits = {
        silentMs,
        silentSetting: '"models.silence_seconds"',
        totalMs: Math.min(timeoutMs, maxMs),
        ...(maxMs < timeoutMs && { totalSetting: '"models.timeout_seconds"' }),
      };
      const [provider, name = ''] = providerOf(model) ?? [];
      if (provider) return await provider.chat({ ...request, ...limits }, name, signal);
      const contextTokens = contextSizes.forChat(model);
      return await models.chat({ ...request, ...limits, contextTokens, newId }, signal);
    },
    async contextTokens(model) {
      const [name = ''] = model.split('/', 1);
      const provider = model.includes('/') ? settings().providers.get(name) : undefined;
      if (provider) return provider.contextTokens;
      const found = await models.find(model, life).catch(() => undefined); // The chat fails with the reason.
      return Math.min(contextSizes.ofChat(model), found?.trainedTokens ?? Infinity);
    },
    queues: () => [...providers.values()].flatMap(provider => provider.queues()),
    async isLocal(model, signal) {
      if (providerOf(model)) return false;
      const found = await findLocal(model, signal);
      return found !== 'unknown' && found !== undefined && canChat(found);
    },
    async findFault(model, signal) {
      if (providerOf(model)) return undefined;
      const found = await findLocal(model, signal);
      if (found === undefined)
        return `Ollama has no model ${model}. ${models.absence(model).remedy}`;
      if (found === 'unknown' || canChat(found)) return undefined;
      return `${model} cannot complete text. Choose another model`;
    },
    async list(signal) {
      const sources = [
        { source: 'ollama', find: () => ofOllama(signal) },
        ...[...settings().providers.keys()].map(source => ({
          source,
          find: () => ofProvider(source, signal),
        })),
      ];
      const found = await Promise.all(
        sources.map(async ({ source, find }) => {
          try {
            return { models: await find(), unavailable: [] };
          } catch (error) {
            if (!(error instanceof ModelFailure) || error.kind === 'cancelled') throw error;
            return { models: [], unavailable: [{ source, message: error.message }] };
          }
        }),
      );
      return {
        models: found.flatMap(one => one.models),
        unavailable: found.flatMap(one => one.unavailable),
      };
    },
    async names(signal) {
      const remote = [...settings().providers.keys()].map(name => `${name}/`);
      try {
        const chatting = (await models.list(signal)).filter(canChat);
        return [...chatting.map(({ name }) => name), ...remote];
      } catch (error) {
        if (error instanceof ModelFailure) return remote;
        throw error;
      }
    },
  };
}

/** True unless Ollama reports that a model cannot complete texts. */
const canChat = ({ capabilities }: Pick<ModelInfo, 'capabilities'>): boolean =>
  capabilities?.includes('completion') !== false;
