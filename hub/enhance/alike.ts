import type { Canonical } from './canonical.ts';
import { isSameText } from './canonical-text.ts';
import type { Chunk, Clause, Term } from './clause-types.ts';
import { withCompoundsOf } from './compound-words.ts';
import { alignSpots } from './alignment.ts';
import { type Structure, plainTerm, structureOf } from './clauses.ts';
import { type Explanation, quoted } from './explanation.ts';
import { withLateIntroductions } from './introductions.ts';
import { otherGoverned } from './governed.ts';
import { type Spots, isContinued, isProse, spotsOf } from './spots.ts';
import { sentencesOf } from './terms.ts';
import { otherPerson } from './persons.ts';
import { isOtherDuty, isOtherTense } from './tenses.ts';
import { isOtherVoice } from './passives.ts';
import { withFirstWordOf } from './first-word.ts';
import { isOtherPronounOrder } from './pronoun-order.ts';
import { isOtherShare } from './quantities.ts';
import { otherSmallWord } from './small-words.ts';
import { exchangedSynonym } from './synonyms.ts';
import { isContainer, isSameForm } from './term-forms.ts';
import { rowsOf } from './words.ts';

/** Maximum length of a request in words. Differences between longer ones are not explained. */
const maxWords = 500;

type Wish = { readonly intent: string; readonly structure: Structure };

/** Compares two requests, and explains their differences if all can be explained. Supports only English. */
export function explainDifferences(one: Canonical, other: Canonical): Explanation {
  const [left, right] = [withFirstWordOf(one, other), withFirstWordOf(other, one)];
  const [a, b] = [withCompoundsOf(left, right), withCompoundsOf(right, left)];
  if (Math.max(a.tokens.length, b.tokens.length) > maxWords)
    return { kind: 'unexplained', why: `longer than ${maxWords} words` };
  if (![a, b].every(({ language }) => language === 'en' || language === undefined))
    return caseless(a) === caseless(b)
      ? { kind: 'alike', why: 'the same words, apart from capitals' }
      : { kind: 'unexplained', why: 'other words, and not in English' };
  const person = otherPerson(a, b);
  if (person !== undefined) return { kind: 'unexplained', why: `another person with “${person}”` };
  if (isOtherShare(a, b))
    return { kind: 'unexplained', why: '“all” in one prompt, “some” or one in the other' };
  const explained = explainWords(a, b);
  const why = explained.kind === 'alike' ? vetoOf(a, b) : undefined;
  return why === undefined ? explained : { kind: 'unexplained', why };
}

/** Returns why two requests differ although their words are explained: small words, tense, voice or prepositions. */
function vetoOf(a: Canonical, b: Canonical): string | undefined {
  if (isOtherTense(a, b) || isOtherDuty(a, b)) return 'another tense or mood';
  if (isOtherVoice(a, b)) return 'the passive voice in only one prompt';
  if (isOtherPronounOrder(a, b)) return 'pronouns have changed places';
  const synonym = exchangedSynonym(spotsIn(a, true), spotsIn(b, true));
  if (synonym !== undefined) return `“${synonym}” has changed places with a synonym`;
  const small = otherSmallWord(a, b);
  if (small !== undefined) return small;
  const governed = otherGoverned(a, b);
  return governed === undefined ? undefined : `another preposition before “${governed}”`;
}

function explainWords(a: Canonical, b: Canonical): Explanation {
  const explained = explainInOrder(a, b);
  if (explained.kind === 'alike') return explained;
  const isWhole = isRequestOnly(a, b);
  if (!isWhole && !isSameText(a.payloadText, b.payloadText)) return explained;
  const aligned = alignSpots(spotsIn(a, isWhole), spotsIn(b, isWhole));
  return aligned.kind === 'alike' ? aligned : explained;
}

/** True if the text after the colon is part of the request. A text to work on is in both prompts or in none. */
function isRequestOnly(a: Canonical, b: Canonical): boolean {
  const isOnce = (a.payloadText === '') !== (b.payloadText === '');
  return isOnce ? isProse(a) && isProse(b) : isContinued(a) && isContinued(b);
}

const knownSpots = [new WeakMap<Canonical, Spots>(), new WeakMap<Canonical, Spots>()] as const;

function spotsIn(canonical: Canonical, isWhole: boolean): Spots {
  const known = knownSpots[isWhole ? 1 : 0];
  const spots = known.get(canonical) ?? spotsOf(canonical, isWhole);
  known.set(canonical, spots);
  return spots;
}

/** Explains the differences if each sentence has the same words in the same roles as its counterpart. */
function explainInOrder(a: Canonical, b: Canonical): Explanation {
  const [left, right] = [wishesOf(a), wishesOf(b)];
  const [mine, theirs] = [unmatched(left, right), unmatched(right, left)];
  if (mine.length > 0 || theirs.length > 0)
    return { kind: 'unexplained', why: `not explained: ${quoted(mine)} and ${quoted(theirs)}` };
  if (!isSameText(a.payloadText, b.payloadText))
    return { kind: 'unexplained', why: 'the same request about another text' };
  return left.length === right.length
    ? explainWishes(left, right)
    : { kind: 'unexplained', why: 'another number of sentences' };
}

const caseless = ({ head, payloadText, language }: Canonical) =>
  JSON.stringify([
    language,
    payloadText,
    ...head.map(({ kind, text }) => [kind, kind === 'word' ? text.toLowerCase() : text]),
  ]);

const knownWishes = new WeakMap<Canonical, readonly Wish[]>();

function wishesOf(canonical: Canonical): readonly Wish[] {
  const known = knownWishes.get(canonical);
  if (known) return known;
  const wishes = sentencesOf(withLateIntroductions(canonical.tokens)).map(sentence => ({
    intent: sentence.intent,
    structure: structureOf(sentence, true),
  }));
  knownWishes.set(canonical, wishes);
  return wishes;
}

const termsIn = (wishes: readonly Wish[]): readonly Term[] =>
  wishes.flatMap(({ structure: { clauses } }) =>
    clauses.flatMap(({ chunks }) => chunks.flatMap(({ terms }) => terms)),
  );

/** Returns the words that are more frequent in the first requests than in the second. */
function unmatched(wishes: readonly Wish[], others: readonly Wish[]): readonly string[] {
  const counts = new Map<string, number>();
  const add = (stem: string, by: number) => {
    const count = (counts.get(stem) ?? 0) + by;
    counts.set(stem, count);
    return count;
  };
  const contexts = (list: readonly Wish[]) => list.flatMap(({ structure }) => structure.context);
  for (const { stem } of termsIn(others)) add(stem, 1);
  for (const language of contexts(others)) add(language, 1);
  const left = termsIn(wishes).filter(({ stem }) => stem !== '&' && add(stem, -1) < 0);
  return [
    ...left.map(({ raw }) => raw),
    ...contexts(wishes).filter(language => add(language, -1) < 0),
  ];
}

function explainWishes(left: readonly Wish[], right: readonly Wish[]): Explanation {
  const pairs = left.flatMap((wish, at) => {
    const other = right[at];
    return other ? [[wish, other] as const] : [];
  });
  const other = pairs.find(([a, b]) => !isSameIntent(a, b));
  if (other) {
    const [mine, theirs] = other.map(({ intent }) => intent || 'do');
    return { kind: 'unexplained', why: `“${mine}” and “${theirs}”` };
  }
  const terms = pairs.map(([a, b]) => pairedTerms(a.structure, b.structure));
  if (terms.includes(undefined)) {
    const [mine, theirs] = [left, right].map(list => quoted(termsIn(list).map(({ raw }) => raw)));
    return { kind: 'roles', why: `the same words in other roles: ${mine} and ${theirs}` };
  }
  const form = terms
    .flatMap((list, at) => {
      const hasPast = pairs[at]?.some(({ structure }) => structure.tense === 'past') ?? false;
      return list?.filter(([a, b]) => !isSameForm(a, b, hasPast)) ?? [];
    })
    .at(0);
  if (form) return { kind: 'unexplained', why: `“${form[0].raw}” and “${form[1].raw}”` };
  return pairs.every(([a, b]) => isSameFrame(a.structure, b.structure))
    ? { kind: 'alike', why: 'the same request in other words' }
    : { kind: 'unexplained', why: 'another tense or another kind of thing' };
}

/** Pairs of intents that are the same request. `do`: there is no verb of asking, and a thing instead of an action. */
const sameIntents = new Set(
  rowsOf(
    `what explain | what list | what do | explain do | list do | write do | summarize do | want howto |
    whichlist list | which whichlist | which list | which give | explain explainhow | give list | give write |
    give what | give do | suggest give | suggest write | suggest list |
    suggest what | find which | find list | find do | calculate what | check whether | bywhom who`,
  ).map(pair => pair.toSorted().join(' ')),
);

function isSameIntent(a: Wish, b: Wish): boolean {
  if (a.intent === b.intent) return true;
  const plain = a.intent === '' ? a : b;
  const isAction = plain.structure.clauses[0]?.chunks[0]?.terms[0]?.isVerb ?? false;
  const pair = [a.intent || 'do', b.intent || 'do'].toSorted().join(' ');
  if (plain.intent !== '') return sameIntents.has(pair);
  return isAction ? pair === 'do want' : sameIntents.has(pair);
}

/** Pairs each term with its counterpart; returns undefined if the terms have different roles. */
function pairedTerms(a: Structure, b: Structure): readonly (readonly [Term, Term])[] | undefined {
  const [mine, theirs] = [ownersIn(a), ownersIn(b)];
  const shared = new Set(
    [...mine].flatMap(([noun, phrase]) => (isOther(phrase, theirs.get(noun)) ? [noun] : [])),
  );
  for (const variant of [
    (clause: Clause) => clause,
    (clause: Clause) => compounded(clause, shared),
  ]) {
    const [left = [], right = []] = [a, b].map(({ clauses }) => ordered(clauses.map(variant)));
    if (left.length === right.length && left.every(({ stem }, at) => stem === right[at]?.stem))
      return left.flatMap((term, at) => {
        const other = right[at];
        return other ? [[term, other] as const] : [];
      });
  }
  return undefined;
}

const isPlain = ({ head }: Clause) => head === 'main' || head === 'rel';
const byHead = <T extends { readonly head: string }>(a: T, b: T) =>
  a.head < b.head ? -1 : Number(a.head > b.head);

/**
 * Returns all terms, with the chunks of each clause sorted by their head. If there is only one main clause, subordinate
 * clauses are sorted, too, because they can only belong to this clause.
 */
function ordered(clauses: readonly Clause[]): readonly Term[] {
  const isFree = clauses.filter(({ head }) => head === 'main').length <= 1;
  const sorted = isFree
    ? [...clauses.filter(isPlain), ...clauses.filter(item => !isPlain(item)).toSorted(byHead)]
    : clauses;
  return sorted.flatMap(({ head, chunks }) => [
    plainTerm(head, ''),
    ...chunks.toSorted(byHead).flatMap(chunk => [plainTerm(`(${chunk.head}`, ''), ...chunk.terms]),
  ]);
}

const isOwner = ({ head, terms }: Chunk): boolean =>
  (head === 'of' || head === 'in') && terms.length > 0;

/** Returns the last nouns of phrases after "of" and "in", each with its whole phrase. */
const ownersIn = ({ clauses }: Structure): ReadonlyMap<string, string> =>
  new Map(
    clauses.flatMap(({ chunks }) =>
      chunks
        .filter(isOwner)
        .map(({ terms }) => [terms.at(-1)?.stem ?? '', terms.map(({ stem }) => stem).join(' ')]),
    ),
  );

const isOther = (phrase: string, other: string | undefined): boolean =>
  other !== undefined && other !== phrase;

/**
 * Rewrites "the size of the bundle" as "the bundle size", unless both requests have such a phrase about the same noun:
 * "small sizes of the bundle" are not "sizes of the small bundle".
 */
function compounded({ head, chunks }: Clause, shared: ReadonlySet<string>): Clause {
  const done: Chunk[] = [];
  for (const chunk of chunks) {
    const last = done.at(-1);
    const noun = last?.terms.at(-1);
    const isCompound =
      noun &&
      !noun.isVerb &&
      !isContainer(noun) &&
      isOwner(chunk) &&
      !shared.has(chunk.terms.at(-1)?.stem ?? '');
    // A number counts the noun after it: "a room for 2 nights" is not "2 rooms for a night".
    const isCounted = [...(last?.terms ?? []), ...chunk.terms].some(({ stem }) =>
      stem.startsWith('number '),
    );
    if (last && isCompound && !isCounted)
      done[done.length - 1] = {
        ...last,
        terms: [...last.terms.slice(0, -1), ...chunk.terms, noun],
      };
    else done.push(chunk);
  }
  return { head, chunks: done };
}

function isSameFrame(a: Structure, b: Structure): boolean {
  if (a.tense && b.tense && a.tense !== b.tense) return false;
  if (a.context.join() !== b.context.join()) return false;
  return !a.kinds.length || !b.kinds.length || a.kinds.join() === b.kinds.join();
}
