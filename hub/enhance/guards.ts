import { explainDifferences } from './alike.ts';
import { type Canonical, canonicalOf, comparedOf } from './canonical.ts';
import { quoted } from './explanation.ts';
import type { Kind, Token } from './tokens.ts';
import { withQuotesAlike } from './quotations.ts';
import { otherSpelling } from './spelling.ts';
import * as words from './words.ts';

/**
 * Result of comparing two prompts. `same`: the canonical forms are equal. `alike`: every difference is explained (a
 * synonym, another form of a word, a word that changes nothing, a moved part), so the prompts are the same request if
 * their embeddings are similar, too. `unsure`: only a judge can decide. `different`: a difference that changes the
 * request was found.
 */
export type Verdict = 'same' | 'alike' | 'unsure' | 'different';

/** Verdict of the guards on two prompts, with a reason to show to users. */
export type Comparison = { readonly verdict: Verdict; readonly why: string };

/** Length in characters above which prompts are the same only if they are equal. */
export const maxComparedLength = 8_000;

/** Checks for one kind of difference each. A guard returns a sentence about the difference, or undefined. */
const guards = [differingLanguage, differingFacts, differingWords] as const;

/** Compares two prompts by their words. They are `same` only if their canonical forms are equal. */
export function compareGuarded(a: string, b: string): Comparison {
  if (a === b) return { verdict: 'same', why: 'equal' };
  if (Math.max(a.length, b.length) > maxComparedLength)
    return {
      verdict: 'different',
      why: `longer than ${maxComparedLength} characters and not equal`,
    };
  const { sequence } = canonicalOf(a);
  if (sequence.length > 0 && isEqual(sequence, canonicalOf(b).sequence))
    return { verdict: 'same', why: 'the same words in the same order' };
  const spelling = otherSpelling(a, b);
  if (spelling !== undefined) return { verdict: 'different', why: spelling };
  const [one, other] = withQuotesAlike(a, b);
  const [left, right] = [comparedOf(one), comparedOf(other)];
  const { kind, why } = explainDifferences(left, right);
  if (kind === 'alike') return { verdict: 'alike', why };
  for (const guard of guards) {
    const difference = guard(left, right);
    if (difference !== undefined) return { verdict: 'different', why: difference };
  }
  return { verdict: kind === 'roles' ? 'different' : 'unsure', why };
}

const isEqual = (a: readonly string[], b: readonly string[]) =>
  a.length === b.length && a.every((item, at) => item === b[at]);

const lowerOf = (tokens: readonly Token[]): readonly string[] =>
  tokens.map(({ text }) => text.toLowerCase());

/** Returns the words that are in `items` but not in `others`, each once. */
function missingIn(others: readonly string[], items: readonly string[]): readonly string[] {
  const known = new Set(others);
  return [...new Set(items)].filter(item => !known.has(item));
}

function differingLanguage({ language: a }: Canonical, { language: b }: Canonical) {
  return a && b && a !== b ? `written in two languages: ${a} and ${b}` : undefined;
}

/** Kinds of tokens that both prompts must share, with their names for messages. */
const facts: readonly (readonly [Kind, string])[] = [
  ['number', 'numbers'],
  ['path', 'paths'],
  ['identifier', 'identifiers'],
  ['quote', 'quoted texts'],
  ['name', 'names'],
  ['sign', 'signs'],
];

/** Signs without a meaning in prose. */
const plainSigns = new Set(['-', '*', '(', ')', '->']);

/**
 * Returns a difference in facts: numbers with their units, versions, paths, identifiers, quotations, names, operators,
 * or the text that the request is about.
 */
function differingFacts(a: Canonical, b: Canonical): string | undefined {
  const [all, others] = [factsOf(a), factsOf(b)];
  for (const [kind, called] of facts) {
    const [left = [], right = []] = [all, others].map(found =>
      found.get(kind)?.map(({ text }) => text),
    );
    const [mine, theirs] = [moreFrequent(left, right), moreFrequent(right, left)];
    if (mine.length || theirs.length)
      return `other ${called}: ${quoted(mine)} and ${quoted(theirs)}`;
    if (kind === 'identifier' && !isEqual(left, right))
      return `identifiers in another order: ${quoted(left)} and ${quoted(right)}`;
  }
  const [mine, theirs] = [capitals(a, b), capitals(b, a)];
  // German capitalizes all nouns.
  if (mine.length && theirs.length && a.language !== 'de' && b.language !== 'de')
    return `other names: ${quoted(mine)} and ${quoted(theirs)}`;
  const hasPayloads = a.payloadText !== '' && b.payloadText !== '';
  return hasPayloads && !isEqual(lowerOf(a.payload), lowerOf(b.payload))
    ? 'the same kind of request about another text'
    : undefined;
}

const factsOf = ({ head, payload }: Canonical): ReadonlyMap<Kind, readonly Token[]> =>
  Map.groupBy(
    [...head, ...payload]
      .map(asName)
      .filter(({ kind, text }) => kind !== 'sign' || !plainSigns.has(text)),
    ({ kind }) => kind,
  );

/** Converts "Java's" to the name Java. */
function asName(token: Token): Token {
  const isOwner = token.kind === 'word' && token.text.endsWith("'s");
  const name = isOwner && words.names.get(token.text.slice(0, -2).toLowerCase());
  return name ? { kind: 'name', text: name } : token;
}

/** Returns the items that are more frequent in the first list. */
function moreFrequent(items: readonly string[], others: readonly string[]): readonly string[] {
  const left = new Map<string, number>();
  for (const other of others) left.set(other, (left.get(other) ?? 0) + 1);
  return items.filter(item => {
    const count = left.get(item) ?? 0;
    left.set(item, count - 1);
    return count <= 0;
  });
}

/** Returns the capitalized words of one text that the other text lacks, regardless of case. */
function capitals(a: Canonical, b: Canonical): readonly string[] {
  const theirs = new Set(lowerOf(b.head));
  return a.head
    .filter(({ kind, text }) => kind === 'word' && /^\p{Lu}/u.test(text))
    .map(({ text }) => text)
    .filter(text => !theirs.has(text.toLowerCase()) && !words.isOpener(text.toLowerCase()));
}

/** Returns a difference in words that changes a request: negations, quantities, times, opposites and the like. */
function differingWords(a: Canonical, b: Canonical): string | undefined {
  const [left, right] = [lowerOf(a.head), lowerOf(b.head)];
  const [noLeft = [], noRight = []] = [left, right].map(list =>
    list.filter(word => words.negators.has(word)),
  );
  if (noLeft.length !== noRight.length)
    return `negated by ${quoted(noLeft)} and by ${quoted(noRight)}`;
  return (
    differingContrast(left, right) ?? differingMarks(left, right) ?? differingWord(left, right)
  );
}

/** For each word, the groups of contrasts that have it, and its meaning in each group. */
const meanings = Map.groupBy(
  words.contrasts.flatMap((group, number) =>
    [...group].map(([word, meaning]) => ({ word, number, meaning })),
  ),
  ({ word }) => word,
);

/** Returns a difference if both prompts have a word of the same group of contrasts, with different meanings. */
function differingContrast(a: readonly string[], b: readonly string[]): string | undefined {
  const [left, right] = [a, b].map(list =>
    Map.groupBy(
      list.flatMap(word => meanings.get(word) ?? []),
      ({ number }) => number,
    ),
  );
  for (const [number, found] of left ?? []) {
    const others = right?.get(number) ?? [];
    const [mine, theirs] = [found, others].map(list => list.map(({ meaning }) => meaning));
    const [[one], [other]] = [
      missingIn(theirs ?? [], mine ?? []),
      missingIn(mine ?? [], theirs ?? []),
    ];
    if (one && other) return `“${one}” and “${other}” are two things`;
  }
  return undefined;
}

/** Returns a difference if only one prompt states a quantity or a time. */
function differingMarks(a: readonly string[], b: readonly string[]): string | undefined {
  const [left = [], right = []] = [a, b].map(list =>
    list
      .filter(word => words.measures.has(word) || words.times.has(word))
      .map(word => (word === 'each' || word === 'any' ? 'every' : word)),
  );
  const other = [...missingIn(right, left), ...missingIn(left, right)];
  return other.length ? `only one prompt says ${quoted(other)}` : undefined;
}

/** Maximum number of differing words in a row. More words are another wording, not another word. */
const maxSlot = 3;
const minFrame = 2;
/** Minimum share of the shorter prompt's words that both prompts have. */
const minFrameShare = 0.5;

/**
 * Returns a difference if otherwise equal sentences differ in one place, or have one more word. Synonyms and forms of
 * one word are no difference.
 */
function differingWord(a: readonly string[], b: readonly string[]): string | undefined {
  const before = words.commonLength(a, b);
  const after = words.commonLength(a.slice(before).toReversed(), b.slice(before).toReversed());
  const slots = [a.slice(before, a.length - after), b.slice(before, b.length - after)];
  const hasContent = (word: string) => !words.small.has(word) && !words.questions.has(word);
  const [mine = [], theirs = []] = slots.map(slot => slot.filter(hasContent));
  const frame = before + after;
  if (slots.some(({ length }) => length > maxSlot)) return undefined;
  if (frame < minFrame || frame < minFrameShare * Math.min(a.length, b.length)) return undefined;
  if (mine.length + theirs.length === 1)
    return `only one prompt says ${quoted([...mine, ...theirs])}`;
  const isOther = !mine.some(word => theirs.some(other => isSynonym(word, other)));
  return mine.length && theirs.length && isOther
    ? `“${theirs.join(' ')}” in the place of “${mine.join(' ')}”`
    : undefined;
}

const isSynonym = (a: string, b: string): boolean =>
  a === b || isVariant(a, b) || words.areSynonyms(a, b);

/** True if two words are forms of one word, or a word and its misspelling. */
function isVariant(a: string, b: string): boolean {
  const same = words.commonLength(a, b);
  const [shortest, longest] = [Math.min(a.length, b.length), Math.max(a.length, b.length)];
  return same >= 4 && same >= shortest - 2 && longest - same <= 3;
}
