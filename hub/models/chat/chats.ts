import { ModelFailure } from '../failure.ts';
import type { Models } from '../models.ts';
import type { ChatAnswer, ChatRequest } from './chat-types.ts';
import type { ContextSizes } from './context-sizes.ts';

/** The models that chat, wherever they run. */
export interface Chats {
  /** The model of chats that name none; undefined if neither the config nor OLLAMA_HOST gives one. */
  readonly defaultModel: string | undefined;
  /** Rejects with ModelFailure. */
  chat(request: ChatRequest, signal: AbortSignal): Promise<ChatAnswer>;
  /** Whether chats may name a model of Ollama. Rejects with ModelFailure. */
  has(model: string, signal: AbortSignal): Promise<boolean>;
  /** The names of all models that chat, as far as they are known. Never rejects. */
  names(signal: AbortSignal): Promise<readonly string[]>;
}

export type ChatSettings = {
  readonly defaultModel: string | undefined;
  /** Timeout of one call in ms, including the time in the queue. */
  readonly timeoutMs: number;
};

type ChatsNeeds = {
  readonly models: Pick<Models, 'chat' | 'find' | 'list'>;
  readonly contextSizes: Pick<ContextSizes, 'forChat'>;
  readonly newId: () => string;
};

/** Idle timeout of a chat in ms. Models may be loaded first. */
const silentMs = 120_000;

/** Creates the chats. The settings are read at each call. */
export function createChats(settings: () => ChatSettings, needs: ChatsNeeds): Chats {
  const { models, contextSizes, newId } = needs;
  return {
    get defaultModel() {
      return settings().defaultModel;
    },
    async chat(request, signal) {
      const limits = { silentMs, totalMs: settings().timeoutMs };
      const contextTokens = contextSizes.forChat(request.model);
      return await models.chat({ ...request, ...limits, contextTokens, newId }, signal);
    },
    async has(model, signal) {
      const found = await models.find(model, signal);
      return found !== undefined && found.capabilities?.includes('completion') !== false;
    },
    async names(signal) {
      try {
        const all = await models.list(signal);
        return all
          .filter(({ capabilities }) => capabilities?.includes('completion') !== false)
          .map(({ name }) => name);
      } catch (error) {
        if (error instanceof ModelFailure) return [];
        throw error;
      }
    },
  };
}
