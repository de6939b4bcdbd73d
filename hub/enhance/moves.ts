import {
  beginning,
  compoundPrepositions,
  freeClauses,
  isBesideHave,
  isSameClause,
  placeOf,
} from './placement.ts';
import type { Side } from './spot-pairs.ts';
import type { Spot } from './spots.ts';
import { isContainer } from './term-forms.ts';
import { wordSet } from './words.ts';

/** Returns the first word of a part that is elsewhere in the other prompt, and must not move. */
export function moved(left: Side, right: Side, compounds: Compounds): Spot | undefined {
  const { order, ranks } = compounds;
  const at = order.find((start, index) => {
    const isMoved = (ranks[index] ?? 0) !== (index === 0 ? 0 : (ranks[index - 1] ?? 0) + 1);
    const part = left.spots[start]?.part;
    // Only one part of a noun phrase may move.
    const isTwice = [...compounds.words].some(word => left.spots[word]?.part === part);
    return isMoved && (isTwice || !canMove(left, right, start));
  });
  return at === undefined ? undefined : left.spots[at];
}

/** Matched words in the order of one prompt, each with its position (rank) in the other prompt. */
type Compounds = {
  readonly order: readonly number[];
  readonly ranks: readonly number[];
  /** Words that follow a preposition in one prompt and precede their noun in the other. */
  readonly words: ReadonlySet<number>;
};

/**
 * Computes the ranks of the matched words. Words that may swap places get the order of the other prompt: "the size of
 * the bundle" and "the bundle size".
 */
export function compoundsOf(left: Side, right: Side): Compounds {
  const order = [...left.pairs.keys()].toSorted((x, y) => x - y);
  const places = [...right.pairs.keys()].toSorted((x, y) => x - y);
  const rankOf = new Map(places.map((place, rank) => [place, rank]));
  const ranks = order.map(at => rankOf.get(left.pairs.get(at) ?? -1) ?? -1);
  const words = new Set<number>();
  const isJoined = (index: number) => ranks[index] === (ranks[index - 1] ?? -2) + 1;
  for (let [middle, rounds] = [1, 0]; middle < order.length && rounds < maxRounds; middle++) {
    if (isJoined(middle)) continue;
    let [begin, end] = [middle - 1, middle + 1];
    while (begin > 0 && isJoined(begin)) begin--;
    while (end < order.length && isJoined(end)) end++;
    // Includes only words that are also next to each other in the other prompt.
    while (begin < middle && ranks[begin] !== (ranks[end - 1] ?? -2) + 1) begin++;
    if (begin === middle) continue;
    const [one, two] = [order[begin] ?? -1, order[middle] ?? -1];
    const compound = compoundAt(left, right, one, two);
    if (!compound) continue;
    const moving = compound === 'behind' ? order.slice(middle, end) : order.slice(begin, middle);
    // In "a room with a large desk", "large" belongs to the desk.
    const [side, last] =
      compound === 'behind'
        ? ([left, order[end - 1] ?? -1] as const)
        : ([right, left.pairs.get(order[middle - 1] ?? -1) ?? -1] as const);
    if (!isEnd(side, last)) continue;
    for (const at of moving) words.add(at);
    const first = ranks[middle] ?? 0;
    for (let index = begin; index < end; index++) ranks[index] = first + index - begin;
    [middle, rounds] = [0, rounds + 1];
  }
  return { order, ranks, words };
}

const maxRounds = 50;

/** Adjectives for states that are about something: "afraid of". */
const states = wordSet(
  'afraid ashamed aware capable envious fond jealous proud scared sure tired worried',
);

/** True if another part of the sentence begins after a word, or nothing follows. */
function isEnd(side: Side, at: number): boolean {
  const next = side.spots.findIndex((_, place) => place > at && side.pairs.has(place));
  return next < 0 || beginning(side, next) !== undefined;
}

/**
 * Returns where a modifier is in the first prompt: after the noun with a preposition, or before it. Undefined if it is
 * not the other way round in the second prompt.
 */
function compoundAt(
  left: Side,
  right: Side,
  noun: number,
  behind: number,
): 'behind' | 'before' | undefined {
  const head = left.pairs.get(noun) ?? -1;
  // "have" defines which of the two has the other: "the project has issues".
  if (isBesideHave(left.spots, behind) || isBesideHave(right.spots, head)) return undefined;
  // "the sales of last month" is not "the month of last sales", and "her brother is afraid" is not "afraid of her
  // brother".
  const isTime = [left.spots[behind], right.spots[head]].some(
    spot => spot?.preposition === '~time',
  );
  const nouns = [left.spots[noun], right.spots[left.pairs.get(behind) ?? -1]];
  const isState = nouns.some(spot => spot && states.has(spot.raw.toLowerCase()));
  // "singing about a man" is not "a man singing".
  const isDone = nouns.some(spot => spot?.form === 'ing' && spot.isVerb);
  const preposition = left.spots[behind]?.preposition || right.spots[head]?.preposition;
  if (isTime || isState || (isDone && preposition !== 'of')) return undefined;
  if ([left.spots[noun], right.spots[head]].some(spot => spot && isContainer(spot)))
    return undefined;
  const isPart = (side: Side, at: number) =>
    beginning(side, at) === 'chunk' && compoundPrepositions.has(side.spots[at]?.preposition ?? '');
  const isInside = (side: Side, at: number) => beginning(side, at) === undefined;
  if (isPart(left, behind) && isInside(right, head)) return 'behind';
  return isPart(right, head) && isInside(left, behind) ? 'before' : undefined;
}

/** True if the part that begins at a word may move to the place of its counterpart. */
function canMove(left: Side, right: Side, at: number): boolean {
  const other = left.pairs.get(at) ?? -1;
  const [a, b] = [left.spots[at], right.spots[other]];
  if (!a || !b) return false;
  const [mine, theirs] = [placeOf(left, at), placeOf(right, other)];
  if (!mine || !theirs || (mine === 'object' && theirs === 'object')) return false;
  if (mine === 'clause' && theirs === 'clause') {
    if (a.clauseHead === 'rel' && b.clauseHead === 'rel') return false;
    const isMain = freeClauses.has(a.clauseHead) && freeClauses.has(b.clauseHead);
    return isMain || isNextToSame(left, right, at, other);
  }
  // "the API of the app" is not "the app of the API".
  if ((mine === 'object') !== (theirs === 'object') && a.preposition !== b.preposition)
    return false;
  if (a.preposition !== '' && (!isOnly(left, a) || !isOnly(right, b))) return false;
  if (!isSameClause(a, b) || !isSameClause(b, a)) return false;
  const [first, second] = [governorOf(left, at), governorOf(right, other)];
  if (left.pairs.get(first) === second) return true;
  return (
    isIntroducing(left, at, right.pairs.get(second)) ||
    isIntroducing(right, other, left.pairs.get(first))
  );
}

/** True if no other chunk in the same part of the prompt has the same preposition. */
const isOnly = ({ spots }: Side, { preposition, part }: Spot): boolean =>
  spots.filter(
    spot => spot.part === part && spot.begins === 'chunk' && spot.preposition === preposition,
  ).length <= 1;

/** Returns the index of the last verb before a word in its part, if the other prompt has it; otherwise -1. */
const governorOf = ({ spots, pairs }: Side, at: number): number =>
  spots.findLastIndex(
    ({ isVerb, part }, place) =>
      place < at && isVerb && part === spots[at]?.part && pairs.has(place),
  );

/** True if a word introduces the sentence of this verb, as "in Python," does, or belongs to a thing that "has" it. */
function isIntroducing(side: Side, at: number, verb: number | undefined): boolean {
  const { spots, pairs } = side;
  const spot = spots[at];
  if (isBesideHave(spots, at) && !pairs.has(at - 1)) return true;
  const last = spots.findLast((item, place) => place < at && pairs.has(place) && !item.isAsk);
  return (
    spot !== undefined &&
    spot.preposition !== '' &&
    last?.part !== spot.part &&
    (verb === undefined || spots[verb]?.part === spot.part)
  );
}

/** True if a subordinate clause and its counterpart belong to the same clause. */
function isNextToSame(left: Side, right: Side, at: number, other: number): boolean {
  const [mine, theirs] = [mainClauseOf(left, at), mainClauseOf(right, other)];
  return [...left.pairs].some(
    ([one, place]) => left.spots[one]?.clause === mine && right.spots[place]?.clause === theirs,
  );
}

/** Returns the clause that a subordinate clause belongs to: the next one if it begins a sentence, or the previous. */
function mainClauseOf({ spots, pairs }: Side, at: number): number | undefined {
  const spot = spots[at];
  const isOther = (item: Spot, place: number) => item.clause !== spot?.clause && pairs.has(place);
  const before = spots.findLast((item, place) => place < at && isOther(item, place));
  const after = spots.find((item, place) => place > at && isOther(item, place));
  return (before?.part === spot?.part ? before : after)?.clause;
}
