import { isDerived } from './left-over.ts';
import { type Side, turned } from './spot-pairs.ts';
import type { Spot } from './spots.ts';
import { rowsOf, wordSet } from './words.ts';

/** Prepositions before words that may also precede their noun. */
export const compoundPrepositions = wordSet('of for in with about');

/** Pairs of prepositions that may replace each other, if only one differs. */
const samePrepositions = new Set(
  rowsOf(`in of | of with | in on | on about | on of | as with`).map(pair =>
    pair.toSorted().join(' '),
  ),
);
const texts = wordSet(
  'talk~ article~ post~ essay~ book~ =book =text =story story~ lecture~ report~ presentation~ =presentation tutorial~ =tutorial guide~ information~ =information paper~ note~ =notes course~ =tip =opinion opinion~ thought~ =speech speech~ feedback~ research~ video~ podcast~ question~ =question',
);
const isText = (spot: Spot | undefined): boolean =>
  spot !== undefined && texts.has(spot.stem) && spot.form !== 'ing';
/** Number of words for which one more preposition may differ. */
const wordsPerPreposition = 25;

/** Returns a word that has another preposition or conjunction before it than its counterpart. */
export function misplaced(side: Side, compounds: ReadonlySet<number>): Spot | undefined {
  const { spots, others, pairs } = side;
  const theirs = turned(side);
  const differing = new Set<string>();
  const maxDiffering = 1 + Math.floor(spots.length / wordsPerPreposition);
  return spots.find((spot, at) => {
    const other = others[pairs.get(at) ?? -1];
    if (!other) return false;
    const begins = beginning(side, at);
    if (begins === 'clause' && !isSameClause(spot, other)) return true;
    // "a woman and three men pose" is not "a woman poses for three men".
    const isJoined = begins === 'item' && spot.preposition !== other.preposition;
    if (isJoined && beginning(theirs, pairs.get(at) ?? -1) === 'chunk') return true;
    const isFirst = begins !== undefined && begins !== 'item';
    if (!isFirst || spot.preposition === other.preposition) return false;
    if (spot.preposition === '' || compounds.has(at)) return false;
    if (isDerived(side, at - 1) && /^(?:of|for|to|in)$/.test(spot.preposition)) return false;
    if (isBesideHave(others, pairs.get(at) ?? -1) && compoundPrepositions.has(spot.preposition))
      return false;
    const pair = [spot.preposition, other.preposition];
    // Swapped prepositions are no synonyms: "from in to of" and "from of to in".
    const isTurned = differing.has(pair.toReversed().join(' '));
    differing.add(pair.join(' '));
    const sorted = pair.toSorted().join(' ');
    const count = [...differing].filter(item => !/^(?:for of|of for)$/.test(item)).length;
    if (isTurned || count > maxDiffering) return true;
    // "talk about the phone" is not "talk on the phone", but "a talk on phones" is "a talk about phones".
    if (sorted === 'about on') return !isText(spots[at - 1]);
    return sorted !== 'for of' && !samePrepositions.has(sorted);
  });
}

/** True next to "have" or "use": "the project has issues" is "issues of the project", "use zod" is "with zod". */
export const isBesideHave = (spots: readonly Spot[], at: number): boolean =>
  [spots[at - 1], spots[at + 1]].some(spot => spot !== undefined && isHave(spot));
const isHave = ({ stem }: Spot): boolean => /^(?:ha(?:ve|s|d)~?|having~|=use)$/.test(stem);

export const freeClauses = wordSet('main rel so');

export const isSameClause = (a: Spot, b: Spot): boolean =>
  a.clauseHead === b.clauseHead || freeClauses.has(a.clauseHead);

/** Returns what begins at a word, or between it and the previous matched word. */
export function beginning({ spots, pairs }: Side, at: number): Spot['begins'] {
  let begins: Spot['begins'];
  for (let place = at; place >= 0; place--) {
    const spot = spots[place];
    if (!spot || (place < at && pairs.has(place))) break;
    if (spot.begins === 'clause' || (place < at && isHave(spot))) return 'clause';
    begins ??= spot.begins;
  }
  return begins;
}

/** Returns what begins at a word. `object`: nothing begins there, and the word follows a verb. */
export function placeOf(side: Side, at: number): Spot['begins'] | 'object' {
  const begins = beginning(side, at);
  if (begins) return begins;
  const last = side.spots.findLastIndex((_, place) => place < at && side.pairs.has(place));
  if (last < 0) return 'clause';
  return side.spots[last]?.isVerb ? 'object' : undefined;
}
