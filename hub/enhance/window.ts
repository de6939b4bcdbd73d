import type { EnhancementRule } from '#config';

/** A token is seldom shorter than that in any language, in bytes of UTF-8. */
const bytesPerToken = 3;

/**
 * Why a prompt would not be seen whole: Ollama drops without a word what does not fit into the window of a
 * model. Undefined where it fits.
 */
export function whyTooLong(prompt: string, { systemPrompt, options }: EnhancementRule) {
  const bytes = Buffer.byteLength(prompt) + Buffer.byteLength(systemPrompt);
  const tokens = Math.ceil(bytes / bytesPerToken);
  if (tokens <= options.num_ctx) return undefined;
  return `the prompt is too long: with the system prompt it has up to ${tokens} tokens, and the window of the model ${options.num_ctx}. Shorten it, or raise "num_ctx" in the options of the rule`;
}
