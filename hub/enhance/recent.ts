import type { ExactCache } from '#cache';
import type { Models } from '#models';
import type { EnhanceRequest } from './enhancement.ts';
import { type Outcome, hitOf } from './outcome.ts';
import type { ChosenRule } from './rules.ts';

/**
 * Prompts that came lately and may be cached, with the keys of what is kept for them: one that comes again need
 * not be searched for secrets, measured and hashed again, which takes longer than to find what is kept.
 */
export interface Recent {
  /** The prompt is fit for the caches, and what is made of it by this rule and model is kept under the key. */
  note(prompt: string, seen: Seen): void;
  has(prompt: string): boolean;
  /** What is kept for the prompt, where nobody has to be asked for it. */
  hit(request: EnhanceRequest, chosen: ChosenRule): Outcome | undefined;
}

type Seen = { readonly chosen: ChosenRule; readonly digest: string; readonly key: string };

/** So many prompts, of that length: some 4 MB. Of more, all are forgotten. */
const maxPrompts = 500;
const maxLength = 4_000;

export function createRecent({
  models,
  exact,
}: {
  readonly models: Pick<Models, 'known'>;
  readonly exact: Pick<ExactCache, 'hit'>;
}): Recent {
  const recent = new Map<string, Seen>();
  return {
    note(prompt, seen) {
      if (prompt.length > maxLength) return;
      if (recent.size >= maxPrompts) recent.clear();
      recent.set(prompt, seen);
    },
    has: prompt => recent.has(prompt),
    hit({ prompt, bypass }, chosen) {
      const seen = bypass ? undefined : recent.get(prompt);
      // Rules that were read again are others.
      if (seen?.chosen !== chosen) return undefined;
      if (models.known(chosen.models[0])?.digest !== seen.digest) return undefined;
      const found = exact.hit(seen.key);
      return found && hitOf(found);
    },
  };
}
