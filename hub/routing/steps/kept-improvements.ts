import { type Approvals, canonicalArguments, hashOf } from '#approvals';
import type { Clock } from '#core';
import { principalKey } from '#policy';
import type { ResolvedCall } from '../call.ts';

/** Maps original prompts to improved prompts. */
type Improvements = ReadonlyMap<string, string>;

type Kept = {
  readonly improvements: Improvements;
  readonly characters: number;
  /** Expiry time, in ms since the epoch. */
  readonly endsAt: number;
};

/** Maximum length of all improvements that are kept, in characters. */
const maxCharacters = 8_000_000;
/** Characters that each call counts in addition to its improvements, so that calls without improvements count too. */
const callCharacters = 1_000;

export type KeptImprovements = ReturnType<typeof createKeptImprovements>;

/**
 * Keeps the improved prompts of calls that wait for a person's approval. A model words a prompt differently each time,
 * and an approval is for exact arguments. So when the client repeats the call, it must get the same prompts that the
 * person saw.
 */
export function createKeptImprovements(
  approvals: Pick<Approvals, 'wholeLifeMs'>,
  clock: Pick<Clock, 'now'>,
) {
  const all = new Map<string, Kept>();
  let characters = 0;

  function drop(key: string): void {
    characters -= all.get(key)?.characters ?? 0;
    all.delete(key);
  }

  return {
    /** Returns the improvements of a call; undefined if there are none, or if they have expired. */
    find(call: ResolvedCall): Improvements | undefined {
      const found = all.get(keyOf(call));
      return found && clock.now() < found.endsAt ? found.improvements : undefined;
    },
    keep(call: ResolvedCall, improvements: Improvements): void {
      const key = keyOf(call);
      drop(key);
      const length = [...improvements].reduce(
        (sum, [one, other]) => sum + one.length + other.length,
        callCharacters,
      );
      all.set(key, {
        improvements,
        characters: length,
        endsAt: clock.now() + approvals.wholeLifeMs,
      });
      characters += length;
      for (const oldest of all.keys()) {
        if (characters <= maxCharacters) break;
        drop(oldest);
      }
    },
  };
}

/** Returns the key of a call: its client, its tool and its arguments as the client sent them. */
function keyOf({ call, server, confirmed }: ResolvedCall): string {
  const span = call.params.get('arguments');
  const args = span ? canonicalArguments(call.request.bytes.subarray(span.start, span.end)) : '';
  const { ownName } = confirmed?.item ?? {};
  return hashOf(JSON.stringify([principalKey(call.principal), server?.config.name, ownName, args]));
}
