import { asActive } from './active.ts';
import { type Lexeme, prepositions, subordinators, wordLexeme } from './lexemes.ts';
import { closed, vocabulary } from './phrases.ts';
import { type Sentence, sentenceOf } from './terms.ts';
import type { Token } from './tokens.ts';
import { requests, wordSet } from './words.ts';

/** Splits a prompt into sentences, and sentences at a comma or "and" before the verb of another request. */
export function requestsOf(tokens: readonly Token[]): readonly Sentence[] {
  const sentences: Sentence[] = [];
  let part: Token[] = [];
  let isRequest = false;
  const close = (mark: string) => {
    if (part.some(({ kind }) => kind !== 'stop')) sentences.push(readRequest(part, mark));
    part = [];
  };
  tokens.forEach((token, at) => {
    // A colon after a short label does not end the sentence: "A: reads, B: writes".
    const isLabel = token.text === ':' && part.length <= 3 && !isRequest;
    if (token.kind === 'stop' && /[.?!;:]/.test(token.text))
      return isLabel ? undefined : close(token.text);
    if (part.length === 0) isRequest = beginsRequest(tokens, at);
    const isJoint = token.text === ',' || token.text === 'and' || token.text === '-';
    if (isJoint && !isIntroduction(part) && (isRequest || token.text === ','))
      if (beginsRequest(tokens, at + 1)) return close(',');
    if (isJoint && !isRequest && beginsStatement(tokens, at + 1)) return close(',');
    // The request may follow an introduction: "If it is missing, create it and log that".
    if (token.text === ',' && isIntroduction(part)) isRequest ||= beginsRequest(tokens, at + 1);
    part.push(token);
  });
  close('');
  return sentences;
}

const readRequest = (tokens: readonly Token[], mark: string): Sentence =>
  asFinding(
    withEarlyAdjectives(
      withEarlyAdjective(
        asActive(
          asCommand(
            sentenceOf(withLateOnly(withLateParts(withoutNaming(withoutKeep(tokens)))), mark),
            mark,
          ),
        ),
      ),
    ),
  );

/** Rewrites "keep it short" as "it should be short". */
function withoutKeep(tokens: readonly Token[]): readonly Token[] {
  const [keep, it, next] = tokens;
  const isKept = keep?.text.toLowerCase() === 'keep' && it?.text === 'it' && next !== undefined;
  return isKept ? [it, ...itShould, ...tokens.slice(2)] : tokens;
}

const itShould: readonly Token[] = ['should', 'be'].map(text => ({ kind: 'word', text }));

const naming = wordSet('named called titled');

/** Rewrites "the method named getData" as "the method getData". */
const withoutNaming = (tokens: readonly Token[]): readonly Token[] =>
  tokens.filter(
    ({ text }, at) =>
      !naming.has(text) || !/^(?:identifier|path|quote)$/.test(tokens[at + 1]?.kind ?? ''),
  );

const be = wordSet('is are was were');

/** Rewrites "a card that is short and funny" as "a short and funny card". */
function withEarlyAdjectives(sentence: Sentence): Sentence {
  const { intent, lexemes } = sentence;
  const [relative, verb, first, and, second] = lexemes.slice(-5);
  const isPair =
    /^(?:that|which)$/.test(relative?.text ?? '') &&
    be.has(verb?.text ?? '') &&
    and?.text === 'and' &&
    [first, second].every(item => item?.kind === 'word' && !closed.has(item.text));
  const begin = beginOfNoun(lexemes, lexemes.length - 5);
  if (!isPair || begin >= lexemes.length - 5) return sentence;
  return {
    intent,
    lexemes: [...lexemes.slice(0, begin), ...lexemes.slice(-3), ...lexemes.slice(begin, -5)],
  };
}

/** Returns the index at which the noun before `end` begins. */
function beginOfNoun(lexemes: readonly Lexeme[], end: number): number {
  const isOutside = ({ kind, text, stem, form }: Lexeme) =>
    kind === 'stop' || closed.has(text) || (form === 'plain' && vocabulary().verbs.has(stem));
  return lexemes.findLastIndex((lexeme, place) => place < end && isOutside(lexeme)) + 1;
}

/** Rewrites "containers that are running" and "which containers are running" as "running containers". */
function withEarlyAdjective(sentence: Sentence): Sentence {
  const { intent, lexemes } = sentence;
  const at = lexemes.length - 2;
  const adjective = lexemes.at(-1);
  const isRelative = /^(?:that|which)$/.test(lexemes[at - 1]?.text ?? '');
  const isShort = intent === 'whichlist' && at >= 0;
  if (isShort && adjective && isSubject(lexemes.slice(0, -1)))
    return { intent, lexemes: [adjective, ...lexemes.slice(0, -1)] };
  const isPredicate =
    intent === 'which' && lexemes.slice(0, at).every(({ kind }) => kind !== 'stop');
  if (!adjective || !be.has(lexemes[at]?.text ?? '') || !(isRelative || isPredicate))
    return sentence;
  const end = isRelative ? at - 1 : at;
  const begin = beginOfNoun(lexemes, end);
  if (begin >= end || adjective.kind !== 'word' || closed.has(adjective.text)) return sentence;
  return {
    intent,
    lexemes: [...lexemes.slice(0, begin), adjective, ...lexemes.slice(begin, end)],
  };
}

const isSubject = (lexemes: readonly Lexeme[]): boolean =>
  lexemes.every(({ kind, text }) => kind !== 'stop' && !closed.has(text));

/** Corrects the intent of a command: "do not use tabs" is not a question. */
function asCommand(sentence: Sentence, mark: string): Sentence {
  const [first, second] = sentence.lexemes;
  const isCommand = first?.text === 'do' && second?.text === 'not' && !mark.includes('?');
  if (isCommand) return { ...sentence, intent: '' };
  const isThere = be.has(first?.text ?? '') && second?.text === 'there';
  return isThere && sentence.intent === 'whether' ? { ...sentence, intent: 'there' } : sentence;
}

const objects = wordSet('a an the this these my our all every what how why');
const movable = wordSet('to in by from as with using for about');

/** Rewrites "sort by date the list" as "sort the list by date". */
function withLateParts(tokens: readonly Token[]): readonly Token[] {
  const [verb, ...others] = tokens
    .filter(({ kind }) => kind !== 'stop')
    .map(({ text }) => text.toLowerCase());
  const isMe = others[0] === 'me' || others[0] === 'us';
  const begin = isMe ? 2 : 1;
  const words = tokens.filter(({ kind, text }) => kind !== 'stop' || text !== ',');
  const object = words.findIndex(
    ({ text }, at) => at > begin + 1 && objects.has(text.toLowerCase()),
  );
  const last = words[object - 1]?.text ?? '';
  const isLate =
    requests.has(verb ?? '') &&
    movable.has(words[begin]?.text ?? '') &&
    object > 0 &&
    !words.slice(begin, object).some(({ text }) => isClauseWord(text)) &&
    !prepositions.has(last) &&
    last !== 'and' &&
    last !== 'or';
  return isLate
    ? [...words.slice(0, begin), ...words.slice(object), ...words.slice(begin, object)]
    : tokens;
}

const isClauseWord = (text: string): boolean =>
  subordinators.has(text) || /^(?:that|which|who|is|are)$/.test(text);

const conditions = wordSet('if when while after once until before');

/** Rewrites "only delete the original if it is there" as "delete the original only if it is there". */
function withLateOnly(tokens: readonly Token[]): readonly Token[] {
  const text = (at: number) => tokens[at]?.text.toLowerCase() ?? '';
  const { verbs, stem } = vocabulary();
  const only = tokens.findIndex(
    (_, at) =>
      text(at) === 'only' && verbs.has(stem(text(at + 1)).stem) && !closed.has(text(at + 1)),
  );
  const isEnd = ({ kind, text: word }: Token, at: number) =>
    at > only && (kind === 'stop' || conditions.has(word));
  const end = only < 0 ? -1 : tokens.findIndex(isEnd);
  const moved = tokens[only];
  if (!moved || end < 0 || !conditions.has(text(end)) || text(end - 1) === 'only') return tokens;
  return [...tokens.slice(0, only), ...tokens.slice(only + 1, end), moved, ...tokens.slice(end)];
}

const searching = /^(?:search|check|scan|review|inspect|examine)$/;

/** Rewrites "check this code for bugs" as "find bugs in this code". */
function asFinding(sentence: Sentence): Sentence {
  const { intent, lexemes } = sentence;
  const at = lexemes.findIndex(({ text }) => text === 'for');
  const [verb, ...place] = lexemes.slice(0, Math.max(at, 0));
  const isSearch = intent === '' && verb !== undefined && searching.test(verb.raw.toLowerCase());
  const [found, rest] = [lexemes.slice(at + 1), place.some(({ kind }) => kind === 'stop')];
  if (!isSearch || rest || place.length === 0 || found.length === 0) return sentence;
  return { intent: 'find', lexemes: [...found, wordLexeme('in'), ...place] };
}

/** True for an introduction before a comma, such as "In Python". */
function isIntroduction([first, ...others]: readonly Token[]): boolean {
  const text = first?.text.toLowerCase() ?? '';
  return (
    (prepositions.has(text) || subordinators.has(text)) &&
    !others.some(({ text: mark }) => mark === ',')
  );
}

const openers = wordSet('please then also kindly and but now');
const maxIntroduction = 7;
const askers = wordSet('how what why where can could');

/** True if the verb of a request begins at `start`. */
function beginsRequest(tokens: readonly Token[], start: number): boolean {
  let at = start;
  while (openers.has(tokens[at]?.text.toLowerCase() ?? '')) at++;
  const [token, next] = [tokens[at], tokens[at + 1]];
  if (token?.kind !== 'word' || !next || next.kind === 'stop' || next.text === 'and') return false;
  const word = token.text.toLowerCase();
  const comma = tokens.slice(at, at + maxIntroduction).findIndex(({ text }) => text === ',');
  if (prepositions.has(word) && comma > 0) return beginsRequest(tokens, at + comma + 1);
  return requests.has(word) || (tokens[start - 1]?.text === ',' && askers.has(word));
}

const predicates = wordSet('is are am was were has have had should must will can does do');
const subjects = wordSet('i we they he she');
const maxSubject = 5;

/** True if a subject with an auxiliary verb begins at `start`. */
function beginsStatement(tokens: readonly Token[], start: number): boolean {
  const words = tokens.slice(start, start + maxSubject);
  if (subjects.has(words[0]?.text.toLowerCase() ?? '')) return true;
  const at = words.findIndex(({ text }) => predicates.has(text));
  return (
    at >= 0 &&
    words
      .slice(0, at)
      .every(({ kind, text }) => kind !== 'stop' && !prepositions.has(text) && text !== 'and')
  );
}
