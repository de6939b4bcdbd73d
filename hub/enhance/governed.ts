import { type Canonical, textsOf } from './canonical.ts';
import { prepositions } from './lexemes.ts';
import { closed, isContentWord, vocabulary } from './phrases.ts';
import { names, rowsOf, wordSet } from './words.ts';

/** Pairs of prepositions that mean the same before any word. */
const samePairs = pairsOf(
  `and from | and to | and with | to into | into as | in inside | with using | via through | among between`,
);
/**
 * Pairs of prepositions that mean the same only after certain words: "a talk on trees" is "a talk about trees", but "a
 * note on the fridge" is not "a note about the fridge".
 */
const samePairsBehind: readonly (readonly [ReadonlySet<string>, ReadonlySet<string>])[] = [
  [
    pairsOf('about on'),
    wordSet(
      `article blog book chapter class course discussion essay guide introduction lecture lesson paper paragraph
      piece post presentation question report research speech story summary talk text tutorial webinar workshop`,
    ),
  ],
  [
    pairsOf('for of'),
    wordSet(
      `agenda cause comment description diagram doc docs documentation example explanation icon job list logo name
      outline plan position post reason role schema sketch summary template test text title type wireframe`,
    ),
  ],
  [
    pairsOf('of in'),
    wordSet(
      `bug element entry error field grammar key line method mistake paragraph row section sentence spelling structure
      style tone typo value word wording`,
    ),
  ],
  [pairsOf('as with'), wordSet('answer reply respond')],
  [pairsOf('by in'), wordSet('changed')],
  [pairsOf('between from'), wordSet('difference differ differs')],
];
/** Prepositions that may replace "to" before a verb: "for testing it" is "to test it". */
const purpose = pairsOf('for to');
/** Months, whose preposition depends on the day: "on June 3" is "the 3rd of June". */
const months = wordSet(
  'january february march april may june july august september october november december',
);
const monthPairs = pairsOf('on of | in of');
/** Words that follow many prepositions, and are not governed by them. */
const ranks = wordSet('own last next first same');
/** Words that begin a clause. A preposition before them does not govern the words after them. */
const clauses = wordSet('how what when where whether which who whom whose why that if');
/** Verbs with "over" as a part of them: "takes over". */
const particled = wordSet('take takes taking taken took hand hands handed');
/** Words before "like" as a verb: "would like". */
const wishing = wordSet('would i you we');
/** Maximum distance in words between a preposition and the word that it governs. */
const maxDistance = 3;

/** A preposition, the word before it, and the word that it governs. `isListed`: "and" or "or" precedes `before`. */
type Head = {
  readonly text: string;
  readonly before: string;
  readonly word: string;
  readonly isListed: boolean;
};

function pairsOf(rows: string): ReadonlySet<string> {
  return new Set(rowsOf(rows).map(pair => pair.toSorted().join(' ')));
}

/**
 * Returns a word with another preposition: "approved by Maria" is not "approved for Maria". Also returns a word after
 * "of" that belongs to another noun: "a box with a chicken of 5 kg" is not "a box of 5 kg with a chicken".
 */
export function otherGoverned(a: Canonical, b: Canonical): string | undefined {
  // Items of a list may be in another order: then each of them has "and" before it in one of the prompts.
  const isJoined = countOfAnd(a) === countOfAnd(b);
  const [mine, theirs] = [governedIn(a), governedIn(b)];
  for (const [word, { heads, isVerb }] of mine) {
    const others = theirs.get(word);
    const [one, ...more] = heads;
    const [other, ...moreOthers] = others?.heads ?? [];
    if (!one || !other || more.length > 0 || moreOthers.length > 0) continue;
    if (isJoined && [one, other].some(({ text }) => text === 'and')) continue;
    const isAction = isVerb || others?.isVerb === true;
    const isOther =
      one.text === other.text
        ? one.text === 'of' && isOfOther(one, other, [a, b])
        : !isSamePair(isAction, one, other);
    if (isOther) return word.replace('~', '');
  }
  return undefined;
}

/** True if the words before "of" differ, and each prompt has both of them. Items of a list do not count. */
function isOfOther(one: Head, other: Head, prompts: readonly Canonical[]): boolean {
  const stemOf = (text: string) => vocabulary().stem(text).stem;
  const owners = [one, other].map(({ before }) => stemOf(before));
  return (
    owners[0] !== owners[1] &&
    [one, other].every(({ before, isListed }) => isContentWord(before) && !isListed) &&
    prompts.every(prompt => {
      const stems = new Set(textsOf(prompt).map(stemOf));
      return owners.every(owner => stems.has(owner));
    })
  );
}

const isJoint = (text: string | undefined): boolean => text === 'and' || text === 'or';

const countOfAnd = (canonical: Canonical): number =>
  textsOf(canonical).filter(text => text === 'and').length;

function isSamePair(isAction: boolean, one: Head, other: Head): boolean {
  const pair = [one.text, other.text].toSorted().join(' ');
  return (
    samePairs.has(pair) ||
    (isAction && purpose.has(pair)) ||
    (months.has(one.word) && monthPairs.has(pair)) ||
    samePairsBehind.some(
      ([pairs, words]) => pairs.has(pair) && [one, other].some(({ before }) => isOf(words, before)),
    )
  );
}

/** True if the set has the word, in the singular or the plural. */
const isOf = (words: ReadonlySet<string>, word: string): boolean =>
  words.has(word) || words.has(word.replace(/s$/, ''));

/** True for prepositions and "and": a word added by "and" is not one added by a preposition. */
const isHead = (text: string): boolean => text === 'and' || prepositions.has(text);

type Governed = { readonly heads: Head[]; isVerb: boolean };

/** Maps each word that follows a preposition to its prepositions. */
function governedIn(canonical: Canonical): ReadonlyMap<string, Governed> {
  const texts = textsOf(canonical);
  const governed = new Map<string, Governed>();
  for (const [at, text] of texts.entries()) {
    const before = texts[at - 1] ?? '';
    const isVerb =
      (text === 'over' && particled.has(before)) || (text === 'like' && wishing.has(before));
    if (!isHead(text) || isVerb) continue;
    const behind = texts.slice(at + 1, at + 1 + maxDistance);
    const place = behind.findIndex(
      (item, index) =>
        prepositions.has(item) ||
        // In "of a Python decorator", "of" governs the decorator.
        (!closed.has(item) &&
          !ranks.has(item) &&
          !(names.has(item) && isContentWord(behind[index + 1]))),
    );
    const word = behind[place];
    if (word === undefined || prepositions.has(word)) continue;
    if (behind.slice(0, place).some(item => clauses.has(item))) continue;
    const { stem, form } = vocabulary().stem(word);
    const found = governed.get(stem) ?? { heads: [], isVerb: false };
    // "out of the text" is "from the text".
    const head = {
      text: before === 'out' && text === 'of' ? 'from' : text,
      before,
      word,
      isListed:
        isJoint(texts[at - 2]) || (isJoint(texts[at - 3]) && closed.has(texts[at - 2] ?? '')),
    };
    if (!found.heads.some(other => other.text === head.text)) found.heads.push(head);
    found.isVerb ||= form === 'ing';
    governed.set(stem, found);
  }
  return governed;
}
