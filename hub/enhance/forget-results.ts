import type { ExactCache } from '#cache';
import { HubError, messageOf } from '#core';
import type { SemanticSource } from './semantic-source.ts';

/**
 * Removes the results of a tag, or all results, from both caches; resolves with the number in each. Rejects with
 * HUB_CACHE_UNREACHABLE if one cache cannot remove them now; the other cache has removed them.
 */
export async function forgetResults(
  exact: Pick<ExactCache, 'forget' | 'isForgetPending'>,
  semantic: Pick<SemanticSource, 'forget'> | undefined,
  tag: string | undefined,
): Promise<{ readonly exact: number; readonly semantic: number }> {
  const inExact = await exact.forget(tag);
  const isPending = exact.isForgetPending?.(tag) ?? false;
  const unreachable = (message: string, cause?: unknown) =>
    new HubError('HUB_CACHE_UNREACHABLE', message, { cause, data: { retryable: true } });
  const equal = isPending
    ? 'the results of equal prompts could not be removed from Redis now: this hub no longer uses them, and removes them as soon as it can'
    : `${inExact} results of equal prompts were removed`;
  let inSemantic = 0;
  try {
    inSemantic = (await semantic?.forget(tag)) ?? 0;
  } catch (cause) {
    const why = `${equal}, and none of similar prompts: ${messageOf(cause)}. Try again when the semantic cache can be reached`;
    throw unreachable(why, cause);
  }
  if (isPending)
    throw unreachable(`${equal}. ${inSemantic} results of similar prompts were removed`);
  return { exact: inExact, semantic: inSemantic };
}
