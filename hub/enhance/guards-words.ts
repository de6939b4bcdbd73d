import type { Canonical } from './canonical.ts';
import { measures, negators, questions, small, times } from './words.ts';
import { contrasts, synonyms } from './words-contrasts.ts';

/** A difference in words that turn a request around: no, how much, when, opposites, another thing of a kind. */
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

/** Each side has a word of a kind that the other has not. */
function differingContrast(a: readonly string[], b: readonly string[]): string | undefined {
  const [some, others] = [a.filter(isOfAKind), b.filter(isOfAKind)];
  for (const group of contrasts) {
    const [left, right] = [meaningsOf(some, group), meaningsOf(others, group)];
    const mine = [...left].find(word => !right.has(word));
    const theirs = [...right].find(word => !left.has(word));
    if (mine && theirs) return `${mine} and ${theirs} are two things`;
  }
  return undefined;
}

const ofAKind = new Set(contrasts.flatMap(group => [...group.keys()]));
const isOfAKind = (word: string) => ofAKind.has(word);

const meaningsOf = (words: readonly string[], group: ReadonlyMap<string, string>) =>
  new Set(words.flatMap(word => group.get(word) ?? []));

/** One side says how much or when, and the other does not. */
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
 * The same sentence with something else in one place, or with one word more: the frame of a template around
 * another payload. Words that are known to mean the same, and forms of one word, are no difference.
 */
function differingWord(a: readonly string[], b: readonly string[]): string | undefined {
  const before = alikeFrom(a, b);
  const after = alikeFrom(a.slice(before).toReversed(), b.slice(before).toReversed());
  const slots = [a.slice(before, a.length - after), b.slice(before, b.length - after)];
  const [mine = [], theirs = []] = slots.map(slot => slot.filter(hasContent));
  const frame = before + after;
  if (slots.some(({ length }) => length > maxSlot)) return undefined;
  if (frame < minFrame || frame < minFrameShare * Math.min(a.length, b.length)) return undefined;
  if (mine.length + theirs.length === 1)
    return `only one of them says ${[...mine, ...theirs].join()}`;
  const isOther = !mine.some(word => theirs.some(other => isAlike(word, other)));
  return mine.length && theirs.length && isOther
    ? `${theirs.join(' ')} in the place of ${mine.join(' ')}`
    : undefined;
}

/** More words than this in the place are another way to say it all. */
const maxSlot = 3;
/** Below this many words a frame says little. */
const minFrame = 2;
/** The part of the shorter prompt that must be the frame. */
const minFrameShare = 0.5;

/** How many items from the first on are the same. */
function alikeFrom(a: ArrayLike<string>, b: ArrayLike<string>): number {
  const shortest = Math.min(a.length, b.length);
  let same = 0;
  while (same < shortest && a[same] === b[same]) same++;
  return same;
}

const hasContent = (word: string) => !small.has(word) && !questions.has(word);

function isAlike(a: string, b: string): boolean {
  if (a === b || isVariant(a, b)) return true;
  if (synonyms.has(a) && synonyms.get(a) === synonyms.get(b)) return true;
  return contrasts.some(group => group.has(a) && group.get(a) === group.get(b));
}

/** Two forms of a word, or a word and its misspelling. */
function isVariant(a: string, b: string): boolean {
  const same = alikeFrom(a, b);
  const [shortest, longest] = [Math.min(a.length, b.length), Math.max(a.length, b.length)];
  return same >= 4 && same >= shortest - 2 && longest - same <= 3;
}
