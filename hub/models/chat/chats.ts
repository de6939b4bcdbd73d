import { isDeepStrictEqual } from 'node:util';
import { ModelFailure } from '../failure.ts';
import type { ModelBreaker } from '../ollama-call.ts';
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

/** The models that chat, wherever they run. */
export interface Chats {
  /** The model of chats that name none; undefined if neither the config nor OLLAMA_HOST gives one. */
  readonly defaultModel: string | undefined;
  /** Rejects with ModelFailure. */
  chat(request: ChatRequest, signal: AbortSignal): Promise<ChatAnswer>;
  /** Whether Ollama has a model that chats; false if it does not answer. Rejects only if it is cancelled. */
  isLocal(model: string, signal: AbortSignal): Promise<boolean>;
  /** The context of a model in tokens; undefined if it is not known. */
  contextTokens(model: string): number | undefined;
  /** The calls to providers now. */
  queues(): readonly QueueLength[];
  /** All models, and what could not be listed. Rejects only if it is cancelled. */
  list(signal: AbortSignal): Promise<ModelListing>;
  /** The names of all models that chat, as far as they are known: `provider/` for those of a provider. Never rejects. */
  names(signal: AbortSignal): Promise<readonly string[]>;
}

/** A model that can be called. */
export type ListedModel = {
  /** As requests name it: with the provider, if it is one of a provider. */
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
  /** Providers by name. A model `name/model` belongs to the provider `name`. */
  readonly providers: ReadonlyMap<
    string,
    ProviderSettings & { readonly contextTokens: number | undefined }
  >;
};

type ChatsNeeds = Omit<ProviderNeeds, 'breaker'> & {
  readonly models: Pick<Models, 'chat' | 'find' | 'list'>;
  readonly contextSizes: Pick<ContextSizes, 'forChat' | 'ofChat'>;
  readonly createBreaker: () => ModelBreaker;
};

/** Idle timeout of a chat in ms. Models may be loaded first. */
const silentMs = 120_000;

/** Creates the chats. The settings are read at each call, so that a change applies to the next one. */
export function createChats(settings: () => ChatSettings, needs: ChatsNeeds): Chats {
  const { models, contextSizes, newId, createBreaker } = needs;
  const providers = new Map<string, Provider & { readonly settings: ProviderSettings }>();

  /** The provider that a model names, and the name of the model there. */
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
      const limits = { silentMs, totalMs: Math.min(timeoutMs, settings().timeoutMs) };
      const [provider, name = ''] = providerOf(model) ?? [];
      if (provider) return await provider.chat({ ...request, ...limits }, name, signal);
      const contextTokens = contextSizes.forChat(model);
      return await models.chat({ ...request, ...limits, contextTokens, newId }, signal);
    },
    contextTokens(model) {
      const [name = ''] = model.split('/', 1);
      const provider = model.includes('/') ? settings().providers.get(name) : undefined;
      return provider ? provider.contextTokens : contextSizes.ofChat(model);
    },
    queues: () => [...providers.values()].flatMap(provider => provider.queues()),
    async isLocal(model, signal) {
      if (providerOf(model)) return false;
      try {
        const found = await models.find(model, signal);
        return found !== undefined && found.capabilities?.includes('completion') !== false;
      } catch (error) {
        if (error instanceof ModelFailure && error.kind !== 'cancelled') return false;
        throw error;
      }
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
        const chatting = (await models.list(signal)).filter(
          ({ capabilities }) => capabilities?.includes('completion') !== false,
        );
        return [...chatting.map(({ name }) => name), ...remote];
      } catch (error) {
        if (error instanceof ModelFailure) return remote;
        throw error;
      }
    },
  };
}
