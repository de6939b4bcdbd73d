import { type Approvals, canonicalArguments, hashOf } from '#approvals';
import type { Clock } from '#core';
import { principalKey } from '#policy';
import type { ResolvedCall } from '../call.ts';

/** Improved prompts by the original ones. */
type Improvements = ReadonlyMap<string, string>;

type Kept = {
  readonly improvements: Improvements;
  readonly characters: number;
  /** In ms since the epoch. */
  readonly endsAt: number;
};

/** Maximum length of all improvements that are kept, in characters. */
const maxCharacters = 8_000_000;
/** Characters that each call counts in addition to its improvements, of which there may be none. */
const callCharacters = 1_000;

export type KeptImprovements = ReturnType<typeof createKeptImprovements>;

/**
 * Keeps how the prompts of a call were improved that a person has to approve. A model words a prompt differently each
 * time, and an approval is of exact arguments, so the client's repetition of the call has to get the words that the
 * person was shown.
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
    /** Undefined if the call was not improved yet, or too long ago. */
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

/** Identifies the client, the tool and the arguments as the client sent them. */
function keyOf({ call, server, confirmed }: ResolvedCall): string {
  const span = call.params.get('arguments');
  const args = span ? canonicalArguments(call.request.bytes.subarray(span.start, span.end)) : '';
  const { ownName } = confirmed?.item ?? {};
  return hashOf(JSON.stringify([principalKey(call.principal), server?.config.name, ownName, args]));
}
