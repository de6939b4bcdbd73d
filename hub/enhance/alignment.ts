import { exchanged, otherObject } from './exchange.ts';
import { type Explanation, quoted } from './explanation.ts';
import { leftOver, repeatedNouns } from './left-over.ts';
import { otherChoice, reordered, withListsOf } from './list-order.ts';
import { compoundsOf, moved } from './moves.ts';
import { misplaced } from './placement.ts';
import { type Side, pairsOf, turned } from './spot-pairs.ts';
import type { Spot, Spots } from './spots.ts';
import { isSameForm } from './term-forms.ts';
import { wordSet } from './words.ts';

/**
 * Compares two prompts word by word. Explains their differences if every word has a counterpart or adds nothing, and
 * only whole parts have moved: clauses, items of a list, words with their preposition.
 */
export function alignSpots(one: Spots, other: Spots): Explanation {
  const a = withContextOf(other, one);
  const b = withListsOf(a, withContextOf(one, other));
  const pairs = pairsOf(a.spots, b.spots);
  const left: Side = { spots: a.spots, others: b.spots, pairs };
  const right = turned(left);
  const [mine, theirs] = [leftOver(left), leftOver(right)];
  if (mine.length > 0 || theirs.length > 0)
    return unexplained(`not explained: ${listed(mine)} and ${listed(theirs)}`);
  const [repeated, others] = [repeatedNouns(left), repeatedNouns(right)];
  if (repeated.length > 0 && others.length > 0)
    return unexplained(`only one prompt repeats ${listed([...repeated, ...others])}`);
  if (!isSameFrame(a, b)) return unexplained('another tense, kind of thing or choice');
  const form = [...pairs].find(([one, other]) => !fits(a, b, a.spots[one], b.spots[other]));
  if (form)
    return unexplained(`“${a.spots[form[0]]?.raw}” and “${b.spots[form[1]]?.raw}” in other forms`);
  if (isPurposeSwapped(left)) return unexplained('purpose and action in each other’s place');
  const counted = otherCount(left) ?? otherCount(right);
  if (counted) return unexplained(`“${counted.raw}” counts something else`);
  const isSequence = a.isSequence || b.isSequence;
  const compounds = compoundsOf(left, right);
  const counterparts = new Set([...compounds.words].map(at => pairs.get(at) ?? -1));
  const word =
    exchanged(left, right) ??
    otherObject(left, right) ??
    reordered(left, right, isSequence) ??
    otherChoice(left) ??
    misplaced(left, compounds.words) ??
    misplaced(right, counterparts) ??
    moved(left, right, compounds) ??
    moved(right, left, compoundsOf(right, left));
  return word
    ? { kind: 'unexplained', why: `“${word.raw}” stands elsewhere` }
    : { kind: 'alike', why: 'the same request in other words' };
}

/** Nouns for parts of a program. "a JavaScript array" is one in JavaScript; "a JavaScript parser" need not be. */
const partsOfCode = wordSet(
  `array list dictionary dict string tuple object map set function method class closure decorator generator loop promise
  hook script program snippet enum struct slice channel trait arrays lists dictionaries dicts strings tuples objects
  maps sets functions methods classes closures decorators generators loops promises hooks scripts programs snippets`,
);

/** Rewrites "a JavaScript array" as "an array in JavaScript" in one prompt if the other prompt has it so. */
function withContextOf({ context: [language, ...more] }: Spots, b: Spots): Spots {
  if (language === undefined || more.length > 0 || b.context.length > 0) return b;
  const at = b.spots.findIndex(({ stem }) => stem === language);
  const [spot, next] = [b.spots[at], b.spots[at + 1]];
  const isAdjective =
    spot && next && !next.begins && !spot.isNegated && partsOfCode.has(next.raw.toLowerCase());
  if (!isAdjective || b.spots.filter(({ stem }) => stem === language).length > 1) return b;
  const { begins, preposition, isChoice } = spot;
  const noun = { ...next, begins, preposition, isChoice };
  return { ...b, context: [language], spots: b.spots.toSpliced(at, 2, noun) };
}

/** True if purpose and action are swapped: "use short names to save space" and "save space to use short names". */
function isPurposeSwapped({ spots, others, pairs }: Side): boolean {
  const heads = new Set(
    [...pairs].flatMap(([one, other]) => {
      const [a, b] = [spots[one], others[other]];
      return a?.isVerb && !a.isAsk && b ? [`${a.clauseHead} ${b.clauseHead}`] : [];
    }),
  );
  return heads.has('main rel') && heads.has('rel main');
}

/** Returns a number that counts another word in the other prompt: "two rooms for a night", "a room for two nights". */
const otherCount = ({ spots, others, pairs }: Side): Spot | undefined =>
  spots.find((spot, at) => {
    if (!/^number \d+$/.test(spot.stem)) return false;
    const place = pairs.get(at) ?? -1;
    const [next, other] = [pairs.get(at + 1), others[place + 1]];
    const isSame = next === place + 1 || next === undefined || other === undefined;
    const isWithin = spots[at + 1]?.begins === undefined && other?.begins === undefined;
    // "three ideas for dinner" is "three dinner ideas".
    if (pairs.get(endOfNoun(spots, at)) === endOfNoun(others, place)) return false;
    return place >= 0 && !isSame && isWithin && [...pairs.values()].includes(place + 1);
  });

/** Returns the index of the last word of the noun phrase that begins with a number. */
function endOfNoun(spots: readonly Spot[], number: number): number {
  const next = spots.findIndex(({ begins }, at) => at > number && begins !== undefined);
  return (next < 0 ? spots.length : next) - 1;
}

const listed = (spots: readonly Spot[]) => quoted(spots.map(({ raw }) => raw));
const unexplained = (why: string): Explanation => ({ kind: 'unexplained', why });

function isSameFrame(a: Spots, b: Spots): boolean {
  if (a.tense && b.tense && a.tense !== b.tense) return false;
  if (a.negations !== b.negations || a.conjunctions.join() !== b.conjunctions.join()) return false;
  if (a.alternatives !== b.alternatives || a.context.join() !== b.context.join()) return false;
  return !a.kinds.length || !b.kinds.length || a.kinds.join() === b.kinds.join();
}

function fits(a: Spots, b: Spots, one: Spot | undefined, other: Spot | undefined): boolean {
  if (!one || !other || one.stem !== other.stem || one.raw === other.raw) return true;
  return isSameForm(one, other, a.tense === 'past' || b.tense === 'past');
}
