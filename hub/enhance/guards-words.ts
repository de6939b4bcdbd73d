import type { Canonical } from './canonical.ts';
import { measures, negators, questions, small, times } from './words.ts';
import { contrasts, synonyms } from './words-contrasts.ts';

/** Finds words that change a request: negations, quantities, times, opposites, other things of the same kind. */
export function differingWords(a: Canonical, b: Canonical): string | undefined {
  const [left, right] = [lowerOf(a), lowerOf(b)];
  const [noLeft, noRight] = [countOf(left, negators), countOf(right, negators)];
  if (noLeft !== noRight) return `negated ${noLeft} and ${noRight} times`;
  return (
    differingContrast(left, right) ?? differingMarks(left, right) ?? differingWord(left, right)
  );
}

const lowerOf = ({ head }: Canonical): readonly string[] =>
  head.map(({ text }) => text.toLowerCase());

const countOf = (words: readonly string[], among: ReadonlySet<string>): number =>
  words.filter(word => among.has(word)).length;

/** Both prompts have a word of the same group, with different meanings. */
function differingContrast(a: readonly string[], b: readonly string[]): string | undefined {
  const [some, others] = [a.filter(isContrasted), b.filter(isContrasted)];
  for (const group of contrasts) {
    const [left, right] = [meaningsOf(some, group), meaningsOf(others, group)];
    const mine = [...left].find(word => !right.has(word));
    const theirs = [...right].find(word => !left.has(word));
    if (mine && theirs) return `${mine} and ${theirs} are two things`;
  }
  return undefined;
}

const contrasted = new Set(contrasts.flatMap(group => [...group.keys()]));
const isContrasted = (word: string) => contrasted.has(word);

const meaningsOf = (words: readonly string[], group: ReadonlyMap<string, string>) =>
  new Set(words.flatMap(word => group.get(word) ?? []));

/** Only one prompt states a quantity or a time. */
function differingMarks(a: readonly string[], b: readonly string[]): string | undefined {
  const marksOf = (words: readonly string[]) =>
    words.filter(word => measures.has(word) || times.has(word)).map(every);
  const [left, right] = [new Set(marksOf(a)), new Set(marksOf(b))];
  const other = [
    ...[...left].filter(word => !right.has(word)),
    ...[...right].filter(word => !left.has(word)),
  ];
  return other.length ? `only one of them says ${other.join(', ')}` : undefined;
}

const every = (word: string) => (word === 'each' || word === 'any' ? 'every' : word);

/**
 * Finds another word in one place of otherwise equal sentences, or one more word. Synonyms and forms of one word do
 * not count.
 */
function differingWord(a: readonly string[], b: readonly string[]): string | undefined {
  const before = commonLength(a, b);
  const after = commonLength(a.slice(before).toReversed(), b.slice(before).toReversed());
  const slots = [a.slice(before, a.length - after), b.slice(before, b.length - after)];
  const [mine = [], theirs = []] = slots.map(slot => slot.filter(hasContent));
  const frame = before + after;
  if (slots.some(({ length }) => length > maxSlot)) return undefined;
  if (frame < minFrame || frame < minFrameShare * Math.min(a.length, b.length)) return undefined;
  if (mine.length + theirs.length === 1)
    return `only one of them says ${[...mine, ...theirs].join()}`;
  const isOther = !mine.some(word => theirs.some(other => isSynonym(word, other)));
  return mine.length && theirs.length && isOther
    ? `${theirs.join(' ')} in the place of ${mine.join(' ')}`
    : undefined;
}

/** Maximum number of differing words: more are another phrasing. */
const maxSlot = 3;
/** Minimum number of equal words. */
const minFrame = 2;
/** Minimum share of equal words in the shorter prompt. */
const minFrameShare = 0.5;

/** Length of the common beginning. */
function commonLength(a: ArrayLike<string>, b: ArrayLike<string>): number {
  const shortest = Math.min(a.length, b.length);
  let same = 0;
  while (same < shortest && a[same] === b[same]) same++;
  return same;
}

const hasContent = (word: string) => !small.has(word) && !questions.has(word);

function isSynonym(a: string, b: string): boolean {
  if (a === b || isVariant(a, b)) return true;
  if (synonyms.has(a) && synonyms.get(a) === synonyms.get(b)) return true;
  return contrasts.some(group => group.has(a) && group.get(a) === group.get(b));
}

/** Whether two words are forms of one word, or a word and its misspelling. */
function isVariant(a: string, b: string): boolean {
  const same = commonLength(a, b);
  const [shortest, longest] = [Math.min(a.length, b.length), Math.max(a.length, b.length)];
  return same >= 4 && same >= shortest - 2 && longest - same <= 3;
}
