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

/** The first word of a part that stands elsewhere, and may not. */
export function moved(left: Side, right: Side, compounds: Compounds): Spot | undefined {
  const { order, ranks } = compounds;
  const at = order.find((start, index) => {
    const isMoved = (ranks[index] ?? 0) !== (index === 0 ? 0 : (ranks[index - 1] ?? 0) + 1);
    const part = left.spots[start]?.part;
    // Only one part of a noun phrase may stand elsewhere.
    const isTwice = [...compounds.words].some(word => left.spots[word]?.part === part);
    return isMoved && (isTwice || !canMove(left, right, start));
  });
  return at === undefined ? undefined : left.spots[at];
}

/** The matched words in the order of one prompt, each with its rank in the other one. */
type Compounds = {
  readonly order: readonly number[];
  readonly ranks: readonly number[];
  /** Words that stand with a preposition in one prompt and before their noun in the other one. */
  readonly words: ReadonlySet<number>;
};

/**
 * Gives words that may change places the ranks of the other prompt: "the size of the bundle" and "the bundle size".
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
    // Only words that follow each other in the other prompt, too.
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

/** Adjectives of a state that has an object. */
const states = wordSet(
  'afraid ashamed aware capable envious fond jealous proud scared sure tired worried',
);

/** Whether something else begins behind a spot, or nothing follows. */
function isEnd(side: Side, at: number): boolean {
  const next = side.spots.findIndex((_, place) => place > at && side.pairs.has(place));
  return next < 0 || beginning(side, next) !== undefined;
}

/** Whether words behind a preposition are in the other prompt words before the noun, or the other way round. */
function compoundAt(
  left: Side,
  right: Side,
  noun: number,
  behind: number,
): 'behind' | 'before' | undefined {
  const head = left.pairs.get(noun) ?? -1;
  // "the project has issues" says which of both has the other.
  if (isBesideHave(left.spots, behind) || isBesideHave(right.spots, head)) return undefined;
  // "the sales of last month" is not "the month of last sales", nor "her brother is afraid" "afraid of her brother".
  const isTime = [left.spots[behind], right.spots[head]].some(
    spot => spot?.preposition === '~time',
  );
  const isState = [left.spots[noun], right.spots[left.pairs.get(behind) ?? -1]].some(
    spot => spot !== undefined && states.has(spot.raw.toLowerCase()),
  );
  // "singing about a man" is not "a man singing".
  const isDone = [left.spots[noun], right.spots[left.pairs.get(behind) ?? -1]].some(
    spot => spot?.form === 'ing' && spot.isVerb,
  );
  const preposition = left.spots[behind]?.preposition || right.spots[head]?.preposition;
  if (isTime || isState || (isDone && preposition !== 'of')) return undefined;
  if (
    [left.spots[noun], right.spots[left.pairs.get(noun) ?? -1]].some(
      spot => spot && isContainer(spot),
    )
  )
    return undefined;
  const isPart = (side: Side, at: number) =>
    beginning(side, at) === 'chunk' && compoundPrepositions.has(side.spots[at]?.preposition ?? '');
  const isInside = (side: Side, at: number) => beginning(side, at) === undefined;
  if (isPart(left, behind) && isInside(right, head)) return 'behind';
  return isPart(right, head) && isInside(left, behind) ? 'before' : undefined;
}

/** Whether the part that begins at a spot may stand where its counterpart does. */
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

/** Whether no other words of the part have the same preposition. */
const isOnly = ({ spots }: Side, { preposition, part }: Spot): boolean =>
  spots.filter(
    spot => spot.part === part && spot.begins === 'chunk' && spot.preposition === preposition,
  ).length <= 1;

/** The last verb before a spot in its part that the other prompt has; -1 if there is none. */
const governorOf = ({ spots, pairs }: Side, at: number): number =>
  spots.findLastIndex(
    ({ isVerb, part }, place) =>
      place < at && isVerb && part === spots[at]?.part && pairs.has(place),
  );

/** Whether a spot begins a sentence with this verb as "in Python," does, or belongs to a thing that only has it. */
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

/** Whether a subordinate clause belongs to the same clause as its counterpart. */
function isNextToSame(left: Side, right: Side, at: number, other: number): boolean {
  const [mine, theirs] = [mainClauseOf(left, at), mainClauseOf(right, other)];
  return [...left.pairs].some(
    ([one, place]) => left.spots[one]?.clause === mine && right.spots[place]?.clause === theirs,
  );
}

/** The clause to which a subordinate one belongs: the next one at the beginning of a sentence, else the one before. */
function mainClauseOf({ spots, pairs }: Side, at: number): number | undefined {
  const spot = spots[at];
  const isOther = (item: Spot, place: number) => item.clause !== spot?.clause && pairs.has(place);
  const before = spots.findLast((item, place) => place < at && isOther(item, place));
  const after = spots.find((item, place) => place > at && isOther(item, place));
  return (before?.part === spot?.part ? before : after)?.clause;
}
