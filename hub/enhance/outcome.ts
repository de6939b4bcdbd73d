import type { Found } from '#cache';
import type { Attempt } from './chain.ts';
import type { EnhanceRequest, Enhancement } from './enhancement.ts';
import type { Kept } from './kept.ts';

/** What became of a prompt, without whose it is. */
export type Outcome = Omit<Enhancement, 'client' | 'rule' | 'tookMs'>;

/** Why a model gave nothing. */
export const inWords = ({ model, message }: Attempt) => `${model}: ${message}`;

/** The prompt as it came. */
export const unchanged = (
  { prompt }: EnhanceRequest,
  reason: string,
  cache: Outcome['cache'],
  attempts: readonly Attempt[] = [],
): Outcome => ({ prompt, enhanced: false, source: 'unchanged', cache, reason, attempts });

/** What was made of a prompt just now. */
export function outcomeOf(kept: Kept, request: EnhanceRequest): Outcome {
  if (kept.kind === 'none') return unchanged(request, kept.reason, 'miss', kept.attempts);
  const { prompt, model } = kept;
  if (kept.kind === 'near') {
    const { similarity, ageMs } = kept;
    return {
      prompt,
      enhanced: true,
      source: 'l2',
      cache: 'hit_l2',
      model,
      similarity,
      ageMs,
      attempts: [],
    };
  }
  const source = kept.isOwn ? 'model' : 'fallback';
  return { prompt, enhanced: true, source, cache: 'miss', model, attempts: kept.attempts };
}

/** An equal prompt's result, and what was read in it; undefined for what another program may have put there. */
export function hitOf(found: Found, kept: Kept | undefined): Outcome | undefined {
  if (kept?.kind !== 'made') return undefined;
  const { prompt, model } = kept;
  const ageMs = Math.round(found.ageMs);
  return { prompt, enhanced: true, source: 'l1', cache: 'hit_l1', model, ageMs, attempts: [] };
}
