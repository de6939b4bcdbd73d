import type { EnhancementRule } from '#config';
import { frame } from './frame.ts';

/**
 * Normalizes a prompt for caches and models: Unicode NFC, U+FFFD for lone surrogates (as Ollama reads them), `
 * ` as line break, no blank lines at the end. Case and inner whitespace are not changed, because they may matter.
 */
export function normalizePrompt(prompt: string): string {
  const text = prompt.toWellFormed().normalize('NFC').replaceAll(/\r\n?/g, '\n');
  const end = text.indexOf('\n', text.trimEnd().length);
  return end < 0 ? text : text.slice(0, end);
}

/** Minimum length of a token in bytes of UTF-8, in nearly all languages. */
const bytesPerToken = 3;

/**
 * Returns why a prompt exceeds the context of its model; undefined if it fits. Ollama silently drops what does not fit.
 */
export function whyTooLong(prompt: string, { systemPrompt, options }: EnhancementRule) {
  const sent = frame(prompt, systemPrompt);
  const bytes = Buffer.byteLength(sent.system) + Buffer.byteLength(sent.prompt);
  const tokens = Math.ceil(bytes / bytesPerToken);
  if (tokens <= options.num_ctx) return undefined;
  return `the prompt is too long: with the system prompt it has up to ${tokens} tokens, and the window of the model ${options.num_ctx}. Shorten it, or raise "num_ctx" in the options of the rule`;
}
