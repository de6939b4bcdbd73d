import { type Canonical, canonicalOf } from './canonical.ts';
import { differingFacts } from './guards-facts.ts';
import { differingOrder } from './guards-order.ts';
import { differingWords } from './guards-words.ts';

/** The verdict of the guards on two prompts, with the reason for people. */
export type Comparison = {
  /** `unsure`: only a judge can decide. */
  readonly verdict: 'same' | 'different' | 'unsure';
  readonly why: string;
};

/** Longer prompts, in characters, are the same only if they are equal. */
export const maxComparedLength = 8_000;

/** Looks for one kind of difference. Returns a sentence about it, or undefined. */
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

/** Compares two prompts by their words. They are `same` only if their canonical forms are equal. */
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
