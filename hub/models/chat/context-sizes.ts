import { setBounded } from '#core';
import { fullName } from '../model-name.ts';

/** Maximum number of remembered models. Agents choose their names, and may name models that do not exist. */
const maxChatting = 1_000;

/**
 * Chooses the context size (`num_ctx`) of each model of Ollama. Prompts and chats of a model get the same size, because
 * Ollama reloads a model when the size changes.
 */
export function createContextSizes(sizes: {
  /** Context size for prompts according to the rules, in tokens; undefined for a model that no rule uses. */
  readonly ofRules: (model: string) => number | undefined;
  /** Context size for chats according to the config, in tokens. */
  readonly ofChats: () => number;
}) {
  /** Models that are used for chats, the most recent last. */
  const chatting = new Map<string, true>();
  const whole = (model: string) => Math.max(sizes.ofRules(model) ?? 0, sizes.ofChats());
  return {
    /** Context size for a prompt, in tokens; undefined if neither a rule nor a chat uses the model. */
    forPrompt: (model: string): number | undefined =>
      chatting.has(fullName(model)) ? whole(model) : sizes.ofRules(model),
    /** Context size for a chat, in tokens, without recording that the model is used for chats. */
    ofChat: whole,
    /** Context size for a chat, in tokens. From now on, prompts of the model get the same size. */
    forChat(model: string): number {
      setBounded(chatting, fullName(model), true, maxChatting);
      return whole(model);
    },
  };
}

export type ContextSizes = ReturnType<typeof createContextSizes>;
