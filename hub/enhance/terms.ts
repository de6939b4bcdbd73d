import {
  type Lexeme,
  articles,
  definite,
  lexemesOf,
  prepositions,
  subordinators,
  wordLexeme,
} from './lexemes.ts';
import { type Phrase, type Phrases, closed, vocabulary } from './phrases.ts';
import type { Token } from './tokens.ts';

/** One sentence: what is wanted, and of what. */
export type Sentence = { readonly intent: string; readonly lexemes: readonly Lexeme[] };

const maxSlot = 8;
const maxLeads = 5;

/** Verbs of writing that may have a definite object and still mean the same. */
const writing = /^(?:write|create|generate|draft|compose|produce|implement|develop)~$/;
/** The sentences of a request. */
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

/** What one sentence asks for. `mark`: the punctuation behind it. */
export function sentenceOf(tokens: readonly Token[], mark: string): Sentence {
  const lexemes = activeVoice(
    withRelative(tokens.flatMap((token, at) => lexemesOf(token, tokens[at + 1]))),
  );
  const request = withoutLeads(lexemes);
  const { intent, rest } = withoutIntent(request);
  const [first, second, ...others] = rest;
  // "on which port does it listen"
  if (
    intent === '' &&
    first &&
    prepositions.has(first.text) &&
    /^(?:which|what)$/.test(second?.text ?? '')
  )
    return { intent: 'which', lexemes: grouped([first, ...others]) };
  // "can you tell me the size"
  const isThing = request.length < lexemes.length && articles.has(first?.text ?? '');
  const isAsked =
    intent === '' && mark.includes('?') && !isThing && !vocabulary().verbs.has(first?.stem ?? '');
  return { intent: isAsked ? 'whether' : intent, lexemes: grouped(withLateNot(rest)) };
}

/** Keeps "to yaml" apart in "convert json to yaml", of which a phrase takes the "to". */
const slotEnd = wordLexeme('>');

/** "isn't the job running" as "is the job not running". */
function withLateNot(lexemes: readonly Lexeme[]): readonly Lexeme[] {
  if (lexemes[1]?.text !== 'not' || !auxiliary.test(lexemes[0]?.text ?? '')) return lexemes;
  const { verbs } = vocabulary();
  const isVerb = ({ form, stem }: Lexeme) => form === 'ing' || form === 'ed' || verbs.has(stem);
  const participle = lexemes.findIndex(
    ({ form }, at) => at > 2 && (form === 'ing' || form === 'ed'),
  );
  // In "doesn't my code compile", "code" is no verb.
  const isNoun = (at: number) =>
    definite.has(lexemes[at - 1]?.text ?? '') || articles.has(lexemes[at - 1]?.text ?? '');
  const action = lexemes.findIndex((lexeme, at) => at > 2 && isVerb(lexeme) && !isNoun(at));
  const isState = participle < 0 && action < 0 && be.test(lexemes[0]?.text ?? '');
  const verb = participle > 0 ? participle : isState ? lexemes.length - 1 : action;
  const [auxiliaryVerb, not, ...rest] = lexemes;
  if (verb < 3 || !auxiliaryVerb || !not) return lexemes;
  return [auxiliaryVerb, ...rest.toSpliced(verb - 2, 0, not)];
}

/** "the process the file was locked by" and "by which the file was locked" as "the process that locked the file". */
function withRelative(lexemes: readonly Lexeme[]): readonly Lexeme[] {
  const isWhom = (lexeme: Lexeme | undefined) => /^(?:which|whom)$/.test(lexeme?.text ?? '');
  const by = lexemes.findLastIndex(
    ({ text }, at) =>
      text === 'by' && at > 0 && (at === lexemes.length - 1 || isWhom(lexemes[at + 1])),
  );
  if (by < 0) return lexemes;
  const isLate = by === lexemes.length - 1;
  const verb = isLate ? by - 1 : lexemes.length - 1;
  const action = lexemes[verb];
  const be = verb - 1;
  const begin = isLate
    ? lexemes.findLastIndex(({ text }, at) => at < be && (articles.has(text) || definite.has(text)))
    : by + 2;
  const isPassive = action?.form === 'ed' && /^(?:is|are|was|were)$/.test(lexemes[be]?.text ?? '');
  if (!isPassive || begin < 2 || begin >= be) return lexemes;
  return [
    ...lexemes.slice(0, isLate ? begin : by),
    wordLexeme('that'),
    action,
    ...lexemes.slice(begin, be),
  ];
}

/** "how should passwords be stored" as "how should i store passwords". */
function activeVoice(lexemes: readonly Lexeme[]): readonly Lexeme[] {
  const be = lexemes.findIndex(({ text }) => text === 'be');
  const modal = lexemes.findLastIndex(
    ({ text }, at) => at < be && /^(?:can|could|should|must|shall|may)$/.test(text),
  );
  const verb = lexemes[be + 1];
  const subject = lexemes.slice(modal + 1, be);
  const isPassive =
    modal >= 0 &&
    verb?.form === 'ed' &&
    lexemes[modal - 1]?.text === 'how' &&
    subject.length > 0 &&
    subject.length <= 4 &&
    !subject.some(({ text }) => text === 'i' || text === 'not') &&
    !lexemes.slice(be).some(({ text }) => text === 'by');
  if (!isPassive) return lexemes;
  const i = { kind: 'word', text: 'i', stem: 'i', form: 'plain', raw: 'I' } as const;
  return [
    ...lexemes.slice(0, modal + 1),
    i,
    { ...verb, form: 'plain' },
    ...subject,
    ...lexemes.slice(be + 2),
  ];
}

type Match = {
  readonly phrase: Phrase;
  readonly end: number;
  readonly slot: readonly Lexeme[];
};

/** The longest phrase that begins at a place. */
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

function endOfArticles(lexemes: readonly Lexeme[], start: number, stem: string): number {
  let at = start;
  while (lexemes[at]?.stem !== stem && articles.has(lexemes[at]?.text ?? '')) at++;
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

/** "can you fix this": about something at hand, and so a request; "can you use await" is a question. */
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

const be = /^(?:is|are|was|were)$/;
const auxiliary =
  /^(?:is|are|was|were|do|does|did|can|could|should|would|will|has|have|had|am|must|may)$/;

/** Takes the words that say what is wanted from the beginning, or from behind an introductory part. */
function withoutIntent(lexemes: readonly Lexeme[]): {
  readonly intent: string;
  readonly rest: readonly Lexeme[];
} {
  const [first] = lexemes;
  const isIntroduced = first && (prepositions.has(first.text) || subordinators.has(first.text));
  const after = isIntroduced ? lexemes.findIndex(({ kind }) => kind === 'stop') + 1 : 0;
  const begin = after > 0 ? withoutLeads(lexemes.slice(after)) : lexemes;
  const before = after > 0 ? lexemes.slice(0, after) : [];
  const found = phraseAt(begin, 0, vocabulary().intents, ({ phrase, end }) => {
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
  if (!found) {
    const [modal] = begin;
    if (!modal || !auxiliary.test(modal.text)) return { intent: '', rest: lexemes };
    const kind = /^(?:can|could|should|would|will|must|may)$/.test(modal.text) ? modal.text : '';
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
    phrase.name === 'compare'
      ? rest.findIndex(({ text }) => /^(?:with|to|against)$/.test(text))
      : -1;
  const compared = joint < 0 ? rest : rest.toSpliced(joint, 1, wordLexeme('and'));
  return { intent: phrase.name, rest: [...before, ...slot, ...compared] };
}

/** "about 5", but not "about us". */
const isAmount = (lexemes: readonly Lexeme[], { phrase, end }: Match): boolean =>
  phrase.name !== 'approximately' || lexemes[end]?.kind === 'number';

/** Replaces phrases by the names of their groups. What a slot holds follows the name. */
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
        : phraseAt(left, at, groups, match => isAmount(left, match));
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
