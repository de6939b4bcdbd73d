import type { EnhancementRules } from '#config';
import { isSameModel } from '#models';

/**
 * Returns the context size (`num_ctx`) for all calls of a model: the largest of the rules that use it. Ollama reloads a
 * model when the size changes, which takes seconds. Undefined for a model that no rule uses.
 */
export function contextSizeOf(
  model: string,
  { default: usual, clients, fallbackChain }: EnhancementRules,
  usualModel: string,
): number | undefined {
  const isFallback = fallbackChain.some(other => isSameModel(other, model));
  const sizes = [usual, ...clients.values()]
    .filter(rule => rule.enabled && (isFallback || isSameModel(rule.model ?? usualModel, model)))
    .map(({ options }) => options.num_ctx);
  return sizes.length > 0 ? Math.max(...sizes) : undefined;
}
