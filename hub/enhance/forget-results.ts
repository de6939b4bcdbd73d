import type { ExactCache } from '#cache';
import { HubError, messageOf } from '#core';
import type { NearResults } from './near.ts';

/**
 * Forgets the results of a tag, or all, in both caches; resolves with how many of each. Rejects with
 * HUB_CACHE_UNREACHABLE where those of one cache could not be removed now; those of the other are.
 */
export async function forgetResults(
  exact: Pick<ExactCache, 'forget' | 'isOwed'>,
  near: Pick<NearResults, 'forget'> | undefined,
  tag: string | undefined,
): Promise<{ readonly exact: number; readonly semantic: number }> {
  const inExact = await exact.forget(tag);
  const isOwed = exact.isOwed?.(tag) ?? false;
  const equal = isOwed
    ? 'the results of equal prompts could not be removed from Redis now: this hub uses none of them, and removes them as soon as it can'
    : `${inExact} results of equal prompts are forgotten`;
  let semantic = 0;
  try {
    semantic = (await near?.forget(tag)) ?? 0;
  } catch (cause) {
    throw new HubError(
      'HUB_CACHE_UNREACHABLE',
      `${equal}, and none of prompts that mean the same: ${messageOf(cause)}. Try again when it can be reached`,
      { cause, data: { retryable: true } },
    );
  }
  if (isOwed)
    throw new HubError(
      'HUB_CACHE_UNREACHABLE',
      `${equal}. Of prompts that mean the same ${semantic} results are forgotten`,
      { data: { retryable: true } },
    );
  return { exact: inExact, semantic };
}
