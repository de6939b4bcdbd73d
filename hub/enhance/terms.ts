import {
  type Lexeme,
  articles,
  definite,
  lexemesOf,
  prepositions,
  subordinators,
  wordLexeme,
} from './lexemes.ts';
import { withVerbsForNouns } from './nominal.ts';
import { type Phrase, type Phrases, closed, vocabulary } from './phrases.ts';
import { withPlainPurpose } from './purpose.ts';
import { activeVoice, auxiliary, withEarlyNot, withRelative } from './word-order.ts';
import type { Token } from './tokens.ts';
import { wordSet } from './words.ts';

/** A sentence: what it asks for (`intent`), and its other words. */
export type Sentence = { readonly intent: string; readonly lexemes: readonly Lexeme[] };

const maxSlot = 8;
const maxLeads = 5;

/** Matches verbs of writing, which mean the same even with a definite object. */
const writing = /^(?:write|create|generate|draft|compose|produce|implement|develop)~$/;
/** Splits a request into sentences. */
export function sentencesOf(tokens: readonly Token[]): readonly Sentence[] {
  const sentences: Sentence[] = [];
  let sentence: Token[] = [];
  const close = (mark: string) => {
    if (sentence.some(({ kind }) => kind !== 'stop')) sentences.push(sentenceOf(sentence, mark));
    sentence = [];
  };
  for (const token of tokens)
    if (token.kind === 'stop' && /[.?!;:]/.test(token.text)) close(token.text);
    else sentence.push(token);
  close('');
  return sentences;
}

/** Reads a final "a" as a name: "in the folder a" is not "in a folder". */
function withLastLetter(lexemes: readonly Lexeme[]): readonly Lexeme[] {
  const [before, last] = lexemes.slice(-2);
  const isName = last?.text === 'a' && before?.form === 'plain' && !closed.has(before.text);
  if (!isName || vocabulary().verbs.has(before.stem)) return lexemes;
  return [...lexemes.slice(0, -1), { ...last, text: 'A', stem: 'A' }];
}

/** Reads "a landlord can raise it", after "whether", as "can a landlord raise it". */
function withEarlyModal(lexemes: readonly Lexeme[]): readonly Lexeme[] | undefined {
  const at = lexemes.findIndex(
    ({ kind, text }) =>
      kind === 'stop' || auxiliary.test(text) || prepositions.has(text) || closedClause.has(text),
  );
  const modal = lexemes[at];
  if (!modal || at > maxSubject || !/^(?:can|should|must|may|will|would)$/.test(modal.text))
    return undefined;
  return [modal, ...lexemes.slice(0, at), ...lexemes.slice(at + 1)];
}

const maxSubject = 5;
const closedClause = wordSet('that which who and or');

/** Returns what a sentence asks for. `mark`: the punctuation at its end. */
export function sentenceOf(tokens: readonly Token[], mark: string): Sentence {
  const lexemes = activeVoice(
    withRelative(
      withPlainPurpose(
        withLastLetter(tokens.flatMap((token, at) => lexemesOf(token, tokens[at + 1]))),
      ),
    ),
  );
  const request = withoutLeads(lexemes);
  const { intent, rest: object } = withoutIntent(request);
  const rest = withVerbsForNouns(object);
  const [first, second, ...others] = rest;
  // The question word is after a preposition: "on which port does it listen".
  if (
    intent === '' &&
    first &&
    prepositions.has(first.text) &&
    /^(?:which|what)$/.test(second?.text ?? '')
  )
    return { intent: 'which', lexemes: grouped([first, ...others]) };
  // A polite question may only name a thing: "can you tell me the size".
  const isThing = request.length < lexemes.length && articles.has(first?.text ?? '');
  const checked = intent === 'check' ? withEarlyModal(rest) : undefined;
  if (checked) return { intent: `whether ${checked[0]?.text}`, lexemes: grouped(checked) };
  const isAsked =
    intent === '' && mark.includes('?') && !isThing && !vocabulary().verbs.has(first?.stem ?? '');
  const isQuestion = isAsked || /^(?:why|how|explainhow|check|whether|when|where)/.test(intent);
  return {
    intent: isAsked ? 'whether' : intent,
    lexemes: grouped(isQuestion ? withEarlyNot(rest) : rest),
  };
}

/** Marks the end of a slot. The phrase of "convert json to yaml" includes the "to" before "yaml". */
const slotEnd = wordLexeme('>');

type Match = {
  readonly phrase: Phrase;
  readonly end: number;
  readonly slot: readonly Lexeme[];
};

/** Returns the longest phrase that begins at a place; undefined if there is none. */
function phraseAt(
  lexemes: readonly Lexeme[],
  at: number,
  phrases: Phrases,
  isFit: (match: Match) => boolean = () => true,
): Match | undefined {
  for (const phrase of phrases.get(lexemes[at]?.stem ?? '') ?? []) {
    const match = matchOf(phrase, lexemes, at);
    if (match && isFit(match)) return match;
  }
  return undefined;
}

function matchOf(phrase: Phrase, lexemes: readonly Lexeme[], start: number): Match | undefined {
  let at = start;
  let slot: readonly Lexeme[] = [];
  let isSlot = false;
  for (const stem of phrase.stems) {
    if (stem === '*') {
      isSlot = true;
      continue;
    }
    const found = isSlot ? endOfSlot(lexemes, at, stem) : endOfArticles(lexemes, at, stem);
    if (found < 0) return undefined;
    if (isSlot) slot = lexemes.slice(at, found);
    isSlot = false;
    at = found + 1;
  }
  return { phrase, end: at, slot };
}

function endOfSlot(lexemes: readonly Lexeme[], start: number, stem: string): number {
  const last = Math.min(lexemes.length - 1, start + maxSlot);
  for (let at = start; at <= last; at++) {
    const lexeme = lexemes[at];
    if (at > start && lexeme?.stem === stem) return at;
    if (lexeme?.kind === 'stop' || lexeme?.text === 'and') return -1;
  }
  return -1;
}

/** Maximum number of consecutive articles in a phrase. Bounds the work for a text of only articles. */
const maxArticles = 8;

function endOfArticles(lexemes: readonly Lexeme[], start: number, stem: string): number {
  let at = start;
  const isPart = (place: number) =>
    lexemes[place]?.text === 'some' && lexemes[place + 1]?.text === 'of';
  const isSkipped = (place: number) => articles.has(lexemes[place]?.text ?? '') && !isPart(place);
  while (at - start < maxArticles && lexemes[at]?.stem !== stem && isSkipped(at)) at++;
  return lexemes[at]?.stem === stem ? at : -1;
}

function withoutLeads(lexemes: readonly Lexeme[]): readonly Lexeme[] {
  let rest = lexemes;
  for (let round = 0; round < maxLeads; round++) {
    while (rest[0]?.kind === 'stop') rest = rest.slice(1);
    const lead = phraseAt(rest, 0, vocabulary().leads) ?? politeQuestion(rest);
    const isIntent = phraseAt(rest, 0, vocabulary().intents);
    if (!lead || (isIntent && isIntent.end > lead.end) || rest.length - lead.end < 2) break;
    rest = rest.slice(lead.end);
  }
  return rest;
}

/** Recognizes requests about something at hand: "can you fix this". "can you use await" is a question. */
function politeQuestion(lexemes: readonly Lexeme[]): { readonly end: number } | undefined {
  const [modal, you, ...rest] = lexemes.map(({ text }) => text);
  const isPolite =
    /^(?:can|will|would)$/.test(modal ?? '') &&
    you === 'you' &&
    (/^(?:list|suggest|propose|recommend|compare|find|name)$/.test(rest[0] ?? '') ||
      isWriting(rest) ||
      rest.some(text => /^(?:this|these|my|our|me|following)$/.test(text)));
  return isPolite ? { end: 2 } : undefined;
}

const isWriting = ([verb = '', next = '']: readonly string[]): boolean =>
  /^(?:write|draft|compose|formulate)$/.test(verb) && /^(?:an?|some|the|one)$/.test(next);

const wayTo = /^the \p{L}+ way to\b/u;

/** Splits off the words of the request itself, at the beginning or after an introduction: "explain", "how do I". */
function withoutIntent(lexemes: readonly Lexeme[]): {
  readonly intent: string;
  readonly rest: readonly Lexeme[];
} {
  const [first, second] = lexemes;
  // "when is it printed, and what fails" begins with a question, not with an introduction.
  const isAsked = first?.text === 'when' && auxiliary.test(second?.text ?? '');
  const isIntroduced =
    first && !isAsked && (prepositions.has(first.text) || subordinators.has(first.text));
  const after = isIntroduced ? lexemes.findIndex(({ kind }) => kind === 'stop') + 1 : 0;
  const begin = after > 0 ? withoutLeads(lexemes.slice(after)) : lexemes;
  const before = after > 0 ? lexemes.slice(0, after) : [];
  // Skips "the" in "tell me the best way to learn it".
  const opening = begin.slice(0, 4).map(({ text }) => text);
  const start = wayTo.test(opening.join(' ')) ? 1 : 0;
  const found = phraseAt(begin, start, vocabulary().intents, ({ phrase, end }) => {
    const next = begin[end];
    if (end === begin.length && !phrase.stems.includes('*')) return false;
    if (phrase.name === 'write' && writing.test(phrase.stems[0] ?? '') && next?.text === 'the')
      return true;
    if (phrase.name === 'write')
      return (
        !definite.has(next?.text ?? '') &&
        !closed.has(next?.text.replace(/^(?:an?|some|one)$/, '') ?? '')
      );
    return (
      !phrase.stems.includes('*') ||
      phrase.name === 'difference' ||
      !next ||
      next.kind === 'stop' ||
      prepositions.has(next.text)
    );
  });
  // "get rid of" is another verb than "get".
  const longer = phraseAt(begin, 0, vocabulary().groups);
  const isOther =
    found?.phrase.name === 'list' && longer?.slot.length === 0 && longer.end > found.end;
  if (!found || isOther) {
    const [modal] = begin;
    if (!modal || !auxiliary.test(modal.text)) return { intent: '', rest: [...before, ...begin] };
    const kind = /^(?:can|could|should|would|will|must|may)$/.test(modal.text)
      ? modal.text.replace('could', 'can')
      : '';
    return { intent: `whether ${kind}`.trim(), rest: [...before, ...begin] };
  }
  const { phrase, end, slot } = found;
  const rest = begin.slice(end);
  if (phrase.name === 'difference')
    return {
      intent: 'what',
      rest: [...before, wordLexeme('difference'), ...slot, wordLexeme('and'), ...rest],
    };
  const joint =
    phrase.name === 'compare' ? rest.findIndex(({ text }) => prepositions.has(text)) : -1;
  const isJoint = /^(?:with|to|against)$/.test(rest[joint]?.text ?? '');
  const compared = isJoint ? rest.toSpliced(joint, 1, wordLexeme('and')) : rest;
  return { intent: phrase.name, rest: [...before, ...slot, ...compared] };
}

/** True for "about 5", "on Mondays" and "once a week on Monday", but not for "about us" and "on Monday". */
function isMeant(lexemes: readonly Lexeme[], { phrase: { name, stems }, end }: Match): boolean {
  if (name === 'approximately') return lexemes[end]?.kind === 'number';
  // "of each" is not "of all".
  if (stems.join() === 'each')
    return lexemes[end]?.kind === 'word' && !closed.has(lexemes[end].text);
  const isEvery =
    stems[0] === 'every' ||
    stems[0] === 'each' ||
    lexemes.some(({ text }) => text === 'week' || text === 'weekly' || text === 'everyweek');
  return isEvery || !/^every\w+day$/.test(name) || lexemes[end - 1]?.form === 's';
}

/** Replaces phrases by the names of their groups. The words of a slot follow the name. */
function grouped(lexemes: readonly Lexeme[]): readonly Lexeme[] {
  const { groups } = vocabulary();
  let left = lexemes;
  const done: Lexeme[] = [];
  for (let at = 0; at < left.length; at++) {
    const lexeme = left[at];
    if (!lexeme) break;
    const found =
      lexeme.kind === 'stop'
        ? undefined
        : phraseAt(left, at, groups, match => isMeant(left, match));
    if (!found) {
      done.push(lexeme);
      continue;
    }
    const raw = left
      .slice(at, found.end)
      .filter(item => !found.slot.includes(item))
      .map(item => item.raw)
      .join(' ');
    done.push({ ...lexeme, kind: 'word', text: found.phrase.name, stem: found.phrase.name, raw });
    if (found.slot.length > 0) {
      const isHeld = prepositions.has(found.phrase.stems.at(-1) ?? '');
      left = [...found.slot, ...(isHeld ? [slotEnd] : []), ...left.slice(found.end)];
      at = -1;
    } else at = found.end - 1;
  }
  return done;
}
