import { vocabulary } from './phrases.ts';
import type { Spot } from './spots.ts';
import { rowsOf } from './words.ts';

/** Index of the counterpart in the other prompt, for each word that has one. */
type Pairs = ReadonlyMap<number, number>;

/** One of two prompts that are compared, and its matches with the other. */
export type Side = {
  readonly spots: readonly Spot[];
  readonly others: readonly Spot[];
  readonly pairs: Pairs;
};

/** Returns the comparison from the side of the other prompt. */
export const turned = ({ spots, others, pairs }: Side): Side => ({
  spots: others,
  others: spots,
  pairs: new Map([...pairs].map(([one, other]) => [other, one])),
});

/** A word and its index in the prompt. */
type Numbered = readonly [at: number, spot: Spot];

const keyOf = ({ stem, isNegated }: Spot) => (isNegated ? `not ${stem}` : stem);

/**
 * Maximum number of possible pairs for one word. If there are more, equal words are paired in order, so that a
 * repetitive text does not block the event loop.
 */
const maxChoices = 10_000;

/** Pairs the words of two prompts. Of several equal words, those with the most similar neighbours are paired. */
export function pairsOf(spots: readonly Spot[], others: readonly Spot[]): Pairs {
  const pairs = new Map<number, number>();
  const taken = new Set<number>();
  const { neutral } = vocabulary();
  const isHeavy = ({ stem, isNegated }: Spot) => isNegated || !neutral.has(stem);
  const placesOf = (list: readonly Spot[]) =>
    Map.groupBy(
      [...list.entries()].filter(([, spot]) => isHeavy(spot)),
      ([, spot]) => keyOf(spot),
    );
  const places = placesOf(others);
  const left = { spots, verbs: verbsBefore(spots) };
  const right = { spots: others, verbs: verbsBefore(others) };
  /** Returns all pairs of positions of a word in the two prompts, the most similar first. */
  const choicesOf = (mine: readonly Numbered[], theirs: readonly Numbered[]) =>
    mine.length * theirs.length > maxChoices
      ? mine.flatMap(([one], at) => theirs.slice(at, at + 1).map(([other]) => ({ one, other })))
      : mine
          .flatMap(([one]) =>
            theirs.map(([other]) => ({ one, other, score: similarity(left, one, right, other) })),
          )
          .toSorted((x, y) => y.score - x.score);
  for (const [key, mine] of placesOf(spots)) {
    const theirs = places.get(key) ?? [];
    for (const { one, other } of choicesOf(mine, theirs)) {
      if (pairs.has(one) || taken.has(other)) continue;
      pairs.set(one, other);
      taken.add(other);
    }
  }
  for (const [one, spot] of spots.entries()) {
    if (pairs.has(one)) continue;
    if (!isHeavy(spot)) continue;
    const other = others.findIndex(
      (item, at) => !taken.has(at) && isHeavy(item) && isNear(spot, item),
    );
    if (other < 0) continue;
    pairs.set(one, other);
    taken.add(other);
  }
  return pairs;
}

/** Returns for each spot the last verb before it in the same part of the prompt. */
function verbsBefore(spots: readonly Spot[]): readonly (Spot | undefined)[] {
  const last = new Map<number, Spot>();
  return spots.map(spot => {
    const before = last.get(spot.part);
    if (spot.isVerb) last.set(spot.part, spot);
    return before;
  });
}

type Surrounded = {
  readonly spots: readonly Spot[];
  readonly verbs: readonly (Spot | undefined)[];
};

/** Returns how similar the neighbours of two equal words are. */
function similarity(a: Surrounded, one: number, b: Surrounded, other: number) {
  const isSame = (x: Spot | undefined, y: Spot | undefined) =>
    x !== undefined && x.stem === y?.stem;
  return (
    Number(isSame(a.spots[one - 1], b.spots[other - 1])) * 2 +
    Number(isSame(a.spots[one + 1], b.spots[other + 1])) * 2 +
    Number(isSame(a.verbs[one], b.verbs[other])) +
    Number(a.spots[one]?.preposition === b.spots[other]?.preposition)
  );
}

/** Pairs of verbs or question words that express the same request. */
const sameAsks = new Set(
  rowsOf(
    `?what =explain | ?what =show | ?what =find | ?what =suggest | ?what =calculate | =show =create | =create =setup | =create addto |
    =suggest =create | =suggest =show | =find =show | how =explain | ?who =show | ?who =find | howto ?want | ?there =find | ?there =show | ?there ?whether | ?there ?what | ?whether =verify`,
  ).map(pair => pair.toSorted().join(' ')),
);

/** True if two different words may mean the same here. */
function isNear(a: Spot, b: Spot): boolean {
  if (a.isNegated !== b.isNegated) return false;
  const isAsking = ({ isAsk, isVerb, begins }: Spot) => isAsk || (isVerb && begins === 'clause');
  if ((a.isAsk || b.isAsk) && isAsking(a) && isAsking(b))
    return sameAsks.has([a.stem, b.stem].toSorted().join(' '));
  if (isOneUnit(a, b) || isOneUnit(b, a)) return true;
  const { near } = vocabulary();
  const rows = near.get(b.stem);
  return near.get(a.stem)?.some(row => rows?.includes(row)) ?? false;
}

const unitWords: ReadonlyMap<string, string> = new Map([
  ['number 1min', 'minute~'],
  ['number 1h', 'hour~'],
  ['number 1d', 'day~'],
  ['number 1wk', 'week~'],
  ['number 1mo', 'month~'],
  ['number 1y', 'year~'],
]);

/** True for "one week" and "a week", but not for "the week". */
const isOneUnit = (amount: Spot, { stem, form, isDefinite }: Spot): boolean =>
  unitWords.get(amount.stem) === stem && form === 'plain' && !isDefinite;
