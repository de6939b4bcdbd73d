import { setBounded } from '#core';
import { fullName } from '../model-name.ts';

/** Bound for names: agents choose them, and may name models that do not exist. */
const maxChatting = 1_000;

/**
 * Decides the context size (`num_ctx`) of each model of Ollama: one for its prompts and its chats, because Ollama loads
 * a model again when the size changes.
 */
export function createContextSizes(sizes: {
  /** Context for prompts as the rules say, in tokens; undefined for a model that no rule uses. */
  readonly ofRules: (model: string) => number | undefined;
  /** Context for chats as the config says, in tokens. */
  readonly ofChats: () => number;
}) {
  /** Models that chat, the latest last. */
  const chatting = new Map<string, true>();
  const whole = (model: string) => Math.max(sizes.ofRules(model) ?? 0, sizes.ofChats());
  return {
    /** The size for a prompt; undefined if neither a rule nor a chat uses the model. */
    forPrompt: (model: string): number | undefined =>
      chatting.has(fullName(model)) ? whole(model) : sizes.ofRules(model),
    /** The size that a chat has. */
    ofChat: whole,
    /** The size for a chat. From now on, prompts of the model have it too. */
    forChat(model: string): number {
      setBounded(chatting, fullName(model), true, maxChatting);
      return whole(model);
    },
  };
}

export type ContextSizes = ReturnType<typeof createContextSizes>;
