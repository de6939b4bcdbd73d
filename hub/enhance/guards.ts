import { type Canonical, canonicalOf } from './canonical.ts';
import { differingFacts } from './guards-facts.ts';
import { differingOrder } from './guards-order.ts';
import { differingWords } from './guards-words.ts';

/** What can be said of two prompts without a model. `why` names what decided, for people. */
export type Comparison = {
  /** `unsure` is what only a judge can decide. */
  readonly verdict: 'same' | 'different' | 'unsure';
  readonly why: string;
};

/** Prompts above this many characters are compared as they stand and no further: nobody asks twice alike at such length. */
export const maxComparedLength = 8_000;

/** Looks for one kind of difference; a sentence where it found one. */
type Guard = (a: Canonical, b: Canonical) => string | undefined;

const guards: readonly Guard[] = [
  (a, b) =>
    a.language && b.language && a.language !== b.language
      ? `written in two languages: ${a.language} and ${b.language}`
      : undefined,
  differingFacts,
  differingWords,
  differingOrder,
];

/**
 * Compares two prompts by their words alone. `same` only where what is left without politeness and
 * typography is equal word by word, in order.
 */
export function compareGuarded(a: string, b: string): Comparison {
  if (a === b) return { verdict: 'same', why: 'equal' };
  if (Math.max(a.length, b.length) > maxComparedLength)
    return {
      verdict: 'different',
      why: `longer than ${maxComparedLength} characters and not equal`,
    };
  const [left, right] = [canonicalOf(a), canonicalOf(b)];
  if (isEqual(left.sequence, right.sequence))
    return { verdict: 'same', why: 'the same words in the same order' };
  for (const guard of guards) {
    const why = guard(left, right);
    if (why !== undefined) return { verdict: 'different', why };
  }
  return { verdict: 'unsure', why: 'other words' };
}

function isEqual(a: readonly string[], b: readonly string[]): boolean {
  return a.length > 0 && a.length === b.length && a.every((item, at) => item === b[at]);
}
