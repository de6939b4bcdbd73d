import type { Side } from './spot-pairs.ts';
import type { Spot } from './spots.ts';

/** Syntactic place of a word: the verb that governs it, and the preposition before it. */
type Slot = { readonly governor: number; readonly preposition: string };

/**
 * Returns a word that changed places with another word: "compare our prices with those of the competitors" is not "our
 * competitors with those of the prices". Items of one list count as the same place.
 */
export function exchanged(left: Side, right: Side): Spot | undefined {
  const order = [...left.pairs.keys()].toSorted((x, y) => x - y);
  const mine = order.map(at => slotOf(left, at));
  const theirs = order.map(at => {
    const { governor, preposition } = slotOf(right, left.pairs.get(at) ?? -1);
    return { governor: right.pairs.get(governor) ?? -1, preposition };
  });
  const turned = order.findIndex((at, one) =>
    order.some((other, two) => {
      if (two <= one || (left.pairs.get(other) ?? -1) > (left.pairs.get(at) ?? -1)) return false;
      const [a, b, c, d] = [mine[one], mine[two], theirs[one], theirs[two]];
      return isEqual(a, d) && isEqual(b, c) && !isEqual(a, b);
    }),
  );
  return left.spots[order[turned] ?? -1];
}

const isEqual = (a: Slot | undefined, b: Slot | undefined): boolean =>
  a !== undefined && a.governor === b?.governor && a.preposition === b.preposition;

/**
 * Returns the place of a word. Its governor is the last verb before it in its part of the prompt, or the next one in
 * its clause; -1 if the other prompt has none.
 */
function slotOf({ spots, pairs }: Side, at: number): Slot {
  const spot = spots[at];
  const governs = (item: Spot, place: number) =>
    (item.isVerb || item.isAsk) && item.part === spot?.part && pairs.has(place);
  const before = spots.findLastIndex((item, place) => place < at && governs(item, place));
  const governor =
    before >= 0
      ? before
      : spots.findIndex(
          (item, place) => place > at && item.clause === spot?.clause && governs(item, place),
        );
  return { governor, preposition: spot?.preposition ?? '' };
}

/** Returns a word of another request than in the other prompt: "compare these and recommend one" has two requests. */
export const otherObject = (left: Side, right: Side): Spot | undefined =>
  left.spots.find((_, at) => {
    const [mine, theirs] = [askOf(left, at), askOf(right, left.pairs.get(at) ?? -1)];
    return mine !== undefined && theirs !== undefined && left.pairs.get(mine) !== theirs;
  });

/** Returns the index of the request's verb directly before a word, if the other prompt has both. */
function askOf({ spots, pairs }: Side, at: number): number | undefined {
  const spot = spots[at];
  if (!pairs.has(at) || !spot || spot.isAsk || spot.preposition !== '') return undefined;
  const ask = spots.findLastIndex((_, place) => place < at && pairs.has(place));
  return spots[ask]?.isAsk && spots[ask].part === spot.part ? ask : undefined;
}
