import { type Canonical, textsOf } from './canonical.ts';
import { isContentWord, vocabulary } from './phrases.ts';
import { wordSet } from './words.ts';

const all = wordSet('all every each everything everybody everyone');
const part = wordSet('some few several many most');
const single = wordSet('every each');
const exactlyOne = wordSet('one single');
const one = wordSet('a an one the this that any');
/** Nouns for periods, which are not compared: "once a year" is "every year". */
const periods = wordSet(
  'second minute hour day night morning evening week month quarter year time',
);
/** Maximum distance in words between a quantity and its noun. */
const maxDistance = 3;

/** True if one prompt is about all of something, and the other about some or one. */
export function isOtherShare(a: Canonical, b: Canonical): boolean {
  const [left, right] = [textsOf(a), textsOf(b)];
  return [isAllOfPart, isOneOfAll, isOneOfMany, isFewOfSome].some(
    isOther => isOther(left, right) || isOther(right, left),
  );
}

/** True if one prompt has "few users", which are not many, and the other has "some users" or "a few users". */
function isFewOfSome(mine: readonly string[], theirs: readonly string[]): boolean {
  const articlesOf = (texts: readonly string[]) =>
    texts.includes('few')
      ? texts.flatMap((text, at) => (text === 'few' ? [texts[at - 1] === 'a'] : []))
      : [texts.includes('some')];
  const [some, few] = [articlesOf(mine), articlesOf(theirs)];
  return theirs.includes('few') && some.includes(true) && !few.includes(true);
}

function isAllOfPart(mine: readonly string[], theirs: readonly string[]): boolean {
  const has = (texts: readonly string[], set: ReadonlySet<string>) =>
    texts.some(text => set.has(text));
  return has(mine, all) && !has(mine, part) && has(theirs, part) && !has(theirs, all);
}

/** True if a noun follows "every" in one prompt, and "a" or "the" in the other. */
function isOneOfAll(left: readonly string[], right: readonly string[]): boolean {
  const [every, other] = [nounsBehind(left, single), nounsBehind(right, single)];
  if (every.size === 0 && other.size === 0) return false;
  const isIn = (
    nouns: ReadonlySet<string>,
    others: ReadonlySet<string>,
    theirs: ReadonlySet<string>,
  ) => [...nouns].some(noun => others.has(noun) && !theirs.has(noun));
  return isIn(every, nounsBehind(right, one), other) || isIn(other, nounsBehind(left, one), every);
}

/** True if one prompt is about one thing, and the other about several: "check one file" and "check both files". */
function isOneOfMany(mine: readonly string[], theirs: readonly string[]): boolean {
  const nouns = nounsBehind(mine, exactlyOne);
  if (nouns.size === 0) return false;
  const forms = Map.groupBy(
    theirs.map(word => vocabulary().stem(word)).filter(({ stem }) => nouns.has(stem)),
    ({ stem }) => stem,
  );
  return [...forms.values()].some(list => list.every(({ form }) => form === 's'));
}

/** Returns the stems of singular nouns after the words of a set, including adjectives in between. */
function nounsBehind(texts: readonly string[], set: ReadonlySet<string>): ReadonlySet<string> {
  const nouns = new Set<string>();
  for (const [at, text] of texts.entries()) {
    // "more than one" means several.
    if (!set.has(text) || (text === 'one' && texts[at - 1] === 'than')) continue;
    const behind = texts.slice(at + 1, at + 1 + maxDistance);
    for (const [place, word] of behind.entries()) {
      // The ordinal in "every second row" is not a time.
      const isRank = word === 'second' && place === 0 && isContentWord(behind[1]);
      if (isRank) continue;
      if (!isContentWord(word) || periods.has(word)) break;
      const { stem, form } = vocabulary().stem(word);
      if (form === 'plain') nouns.add(stem);
    }
  }
  return nouns;
}
