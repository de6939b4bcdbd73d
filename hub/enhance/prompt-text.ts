import type { EnhancementRule } from '#config';
import { frame } from './frame.ts';

/**
 * Normalizes a prompt for caches and models: Unicode NFC, U+FFFD for half a character as Ollama reads it, `\n` as line
 * end, no blank lines at the end. Case and inner blanks may carry meaning and stay.
 */
export function normalizePrompt(prompt: string): string {
  const text = prompt.toWellFormed().normalize('NFC').replaceAll(/\r\n?/g, '\n');
  const end = text.indexOf('\n', text.trimEnd().length);
  return end < 0 ? text : text.slice(0, end);
}

/** Lower bound for the length of a token in bytes of UTF-8, in nearly all languages. */
const bytesPerToken = 3;

/**
 * Why a prompt does not fit into the context window of its model; undefined if it fits. Ollama silently drops the
 * part that does not fit.
 */
export function whyTooLong(prompt: string, { systemPrompt, options }: EnhancementRule) {
  const sent = frame(prompt, systemPrompt);
  const bytes = Buffer.byteLength(sent.system) + Buffer.byteLength(sent.prompt);
  const tokens = Math.ceil(bytes / bytesPerToken);
  if (tokens <= options.num_ctx) return undefined;
  return `the prompt is too long: with the system prompt it has up to ${tokens} tokens, and the window of the model ${options.num_ctx}. Shorten it, or raise "num_ctx" in the options of the rule`;
}
