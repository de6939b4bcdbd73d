import { type Side, pairsOf } from './spot-pairs.ts';
import type { Spot, Spots } from './spots.ts';
import { wordSet } from './words.ts';

/** Positions of the words of each item. */
type Items = readonly (readonly number[])[];

type List = {
  /** The word before the first item. */
  readonly opening: Spot | undefined;
  readonly items: Items;
  /** The word after the last item. */
  readonly next: Spot | undefined;
};

/** Words after which the order of a list does not matter, such as "compare", "install", "verify" and "difference". */
const freeOpenings = wordSet(
  '=compare contrast~ =concept =exclude =explain =fix =install =uninstall =verify avoid~ difference invite~ mock~ remove',
);
/** Words that are a fixed pair in either order, such as advantages and disadvantages. */
const counterparts = wordSet('=advantage =disadvantage strength~ weakness~');
/** Prepositions after a list that belong to the verb before it or to all items. */
const shared = wordSet('for in on as of');

/**
 * Returns the second prompt with its unordered lists in the order of the first prompt: things to compare, to install or
 * to check, two alternatives, "pros and cons".
 */
export function withListsOf(a: Spots, b: Spots): Spots {
  const lists = a.isSequence || b.isSequence ? [] : listsIn(a.spots);
  const others = lists.length > 0 ? listsIn(b.spots) : [];
  if (others.length === 0) return b;
  const pairs = pairsOf(a.spots, b.spots);
  let { spots } = b;
  for (const other of others) {
    const [items] = lists
      .filter(list => isFree(a.spots, list) && isFree(spots, other))
      .map(list => inOrderOf(list, other, pairs))
      .filter(({ length }) => length > 0);
    if (items) spots = rewritten(spots, other, items);
  }
  return { ...b, spots };
}

/**
 * Returns a word that precedes another word in one prompt and follows it in the other, if they belong to different
 * items of a list, actions or sentences, whose order may matter: steps, keys to sort by, columns, arguments. A
 * statement about the situation may be before or after its request, unless words such as "then" define an order
 * (`hasOrder`).
 */
export function reordered(left: Side, right: Side, hasOrder: boolean): Spot | undefined {
  const order = [...left.pairs.keys()].toSorted((x, y) => x - y);
  const [mine, theirs] = [statementsIn(left.spots), statementsIn(right.spots)];
  const at = order.find((one, index) =>
    order.slice(index + 1).some(two => {
      const [a, b] = [left.pairs.get(one) ?? -1, left.pairs.get(two) ?? -1];
      if (a < b || !isParted(left.spots, one, two) || !isParted(right.spots, b, a)) return false;
      // One of the words is in a request, and the other in a statement about the situation.
      const isSituation = mine.has(one) !== mine.has(two) && theirs.has(a) !== theirs.has(b);
      return hasOrder || !isSituation;
    }),
  );
  return left.spots[at ?? -1];
}

/** Returns a word after "or" in one prompt and after "and" in the other: "A or B and C" and "A and B or C". */
export const otherChoice = ({ spots, others, pairs }: Side): Spot | undefined =>
  spots.find((spot, at) => {
    const other = others[pairs.get(at) ?? -1];
    return spot.begins === 'item' && other?.begins === 'item' && spot.isChoice !== other.isChoice;
  });

/** True if an item, action or sentence ends between two words, so that they belong to different ones. */
function isParted(spots: readonly Spot[], one: number, two: number): boolean {
  for (let at = two; at > one; at--) {
    if (isBoundary(spots, at)) return true;
    // In "trains between Ghent and Bruges on Sundays", "on Sundays" belongs to neither item.
    if (spots[at]?.begins)
      return spots.some((_, place) => place > one && place < at && isClause(spots, place));
  }
  return false;
}

const isBoundary = (spots: readonly Spot[], at: number): boolean =>
  spots[at]?.begins === 'item' || isClause(spots, at);

/** True if an action, a sentence, or an item after a comma begins here. The object of a request begins none. */
function isClause(spots: readonly Spot[], at: number): boolean {
  const [before, spot] = [spots[at - 1], spots[at]];
  const isObject = before?.isAsk === true && before.part === spot?.part;
  return spot?.begins === 'clause' && spot.clauseHead === 'main' && !isObject;
}

/** Returns the positions of the words in statements: sentences without a request that do not begin with a verb. */
function statementsIn(spots: readonly Spot[]): ReadonlySet<number> {
  const parts = Map.groupBy(spots.keys(), at => spots[at]?.part ?? -1);
  const isStatement = (places: readonly number[]) =>
    !places.some(at => spots[at]?.isAsk) && !spots[places[0] ?? -1]?.isVerb;
  return new Set([...parts.values()].filter(isStatement).flat());
}

/** Returns the lists of a prompt: items with "and" or "or" before the last one. A preposition ends a list. */
function listsIn(spots: readonly Spot[]): readonly List[] {
  return [...spots.keys()].filter(at => spots[at]?.begins === 'item').map(at => listAt(spots, at));
}

function listAt(spots: readonly Spot[], last: number): List {
  const behind = spots.findIndex((spot, at) => at > last && endsList(spot));
  const end = behind < 0 ? spots.length : behind;
  const items = [rangeOf(last, end)];
  let begin = last;
  for (;;) {
    const first = startOfItem(spots, begin);
    items.unshift(rangeOf(first, begin));
    if (!isBoundary(spots, first) || spots[first - 1]?.part !== spots[first]?.part)
      return { opening: spots[first - 1], items, next: spots[end] };
    begin = first;
  }
}

const endsList = ({ begins, stem }: Spot): boolean => begins !== undefined || stem === 'together~';
const isVerbal = (spot: Spot | undefined): boolean => spot?.isVerb === true || spot?.isAsk === true;
const rangeOf = (begin: number, end: number): readonly number[] =>
  Array.from({ length: end - begin }, (_, index) => begin + index);

/** Returns the start of the item before `end`: after a verb or "difference between", at a comma or preposition. */
function startOfItem(spots: readonly Spot[], end: number): number {
  const isOpened = (at: number) =>
    isVerbal(spots[at - 1]) || /^(?:difference|both)$/.test(spots[at - 1]?.stem ?? '');
  let at = end - 1;
  while (at > 0 && !isOpened(at) && !spots[at]?.begins) at--;
  return Math.max(at, 0);
}

/** Returns the items of the second list in the order of the first; empty if the lists have different items. */
function inOrderOf(list: List, other: List, pairs: Side['pairs']): Items {
  const keyOf = (item: readonly number[]) => item.toSorted((x, y) => x - y).join(' ');
  const theirs = new Map(other.items.map(item => [keyOf(item), item]));
  const items = list.items.flatMap(item => {
    const found = theirs.get(keyOf(item.flatMap(at => pairs.get(at) ?? [])));
    return found ? [found] : [];
  });
  return items.length === theirs.size && items.length === list.items.length ? items : [];
}

/** Returns the words with the items of a list in another order. Clause and conjunction keep their position. */
function rewritten(spots: readonly Spot[], list: List, items: Items): readonly Spot[] {
  const begin = list.items[0]?.[0] ?? 0;
  const words = items.flatMap((item, place) => {
    const first = spots[list.items[place]?.[0] ?? -1];
    return item.flatMap((at, index) => {
      const spot = spots[at];
      if (!spot || !first) return [];
      const { clause, isChoice, begins } = first;
      return [
        {
          ...spot,
          clause,
          isChoice: index === 0 && isChoice,
          begins: index === 0 ? begins : undefined,
        },
      ];
    });
  });
  return spots.toSpliced(begin, words.length, ...words);
}

function isFree(spots: readonly Spot[], { opening, items, next }: List): boolean {
  const heads = items.map(item => spots[item.at(-1) ?? -1]);
  if (heads.every(head => counterparts.has(head?.stem ?? ''))) return true;
  // Adverbs have no order: "horizontally and vertically".
  if (items.every(({ length }) => length === 1) && heads.every(head => head?.raw.endsWith('ly')))
    return true;
  if (next?.begins === 'chunk' && !shared.has(next.preposition)) return false;
  if (next?.begins === 'clause' && next.clauseHead === 'rel' && next.form !== 'ing') return false;
  const firsts = items.map(item => spots[item[0] ?? -1]);
  if (isNested(firsts.slice(1))) return false;
  return (
    freeOpenings.has(opening?.stem ?? '') ||
    firsts[0]?.preposition === 'between' ||
    opening?.stem === 'both' ||
    next?.stem === 'together~' ||
    firsts.some(first => first?.isChoice)
  );
}

/** True if items belong to several lists: "A and B or C", "A and B, C and D". */
function isNested(firsts: readonly (Spot | undefined)[]): boolean {
  const inner = firsts.slice(0, -1).map(first => first?.begins);
  const isMixed = new Set(inner).size > 1;
  return isMixed || (inner[0] === 'item' && new Set(firsts.map(first => first?.isChoice)).size > 1);
}
