import type { ExactCache, Found } from '#cache';
import type { Models } from '#models';
import type { EnhanceRequest } from './enhancement.ts';
import { type Kept, readKept } from './kept.ts';
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
  /** What is kept for the prompt, which nobody has to make again: at once where it is in memory. */
  hit(
    request: EnhanceRequest,
    chosen: ChosenRule,
  ): Outcome | undefined | Promise<Outcome | undefined>;
}

type Seen = { readonly chosen: ChosenRule; readonly digest: string; readonly key: string };

/** With what was kept the last time: reading it takes longer than finding it. */
type Known = Seen & { value: string | undefined; kept: Kept | undefined };

/** So many prompts, of that length: some 4 MB. Of more, all are forgotten. */
const maxPrompts = 500;
const maxLength = 4_000;

function read(found: Found, known: Known): Outcome | undefined {
  if (found.value !== known.value) {
    known.value = found.value;
    known.kept = readKept(found.value);
  }
  return hitOf(found, known.kept);
}

export function createRecent({
  models,
  exact,
}: {
  readonly models: Pick<Models, 'known'>;
  readonly exact: Pick<ExactCache, 'hit'>;
}): Recent {
  const recent = new Map<string, Known>();
  return {
    note(prompt, seen) {
      if (prompt.length > maxLength) return;
      if (recent.size >= maxPrompts) recent.clear();
      recent.set(prompt, { ...seen, value: undefined, kept: undefined });
    },
    has: prompt => recent.has(prompt),
    hit({ prompt, bypass }, chosen) {
      const seen = bypass ? undefined : recent.get(prompt);
      // Rules that were read again are others.
      if (seen?.chosen !== chosen) return undefined;
      if (models.known(chosen.models[0])?.digest !== seen.digest) return undefined;
      const found = exact.hit(seen.key);
      return found instanceof Promise
        ? found.then(told => told && read(told, seen))
        : found && read(found, seen);
    },
  };
}
