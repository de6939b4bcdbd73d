import { prepositions, subordinators } from './lexemes.ts';
import type { Token } from './tokens.ts';
import { requests, wordSet } from './words.ts';

const questions = wordSet(
  'what which who how why when where can could should is are do does did will would',
);

/** Words after "when" that make the sentence a question. */
const auxiliaries = wordSet(
  'am is are was were do does did has have had can could should would will shall may might must',
);
/** Verbs and conjunctions that introduce a clause. A time at the end of the sentence could belong to this clause. */
const clauseBearing = wordSet(
  `say says said tell tells told think thinks thought know knows knew believe believes believed claim claims claimed
  hope hopes hoped expect expects expected promise promised decide decided want wants wanted ask asks asked remind reminds
  teach teaches train warn warned convince plan planned prepare schedule that if whether because who`,
);

/** Rewrites "before I upgrade, what should I check?" as "what should I check before I upgrade?" */
export function withLateIntroductions(tokens: readonly Token[]): readonly Token[] {
  const done: Token[] = [];
  let sentence: Token[] = [];
  for (const token of tokens) {
    const isEnd = token.kind === 'stop' && /[.?!;:]/.test(token.text);
    if (!isEnd) {
      sentence.push(token);
      continue;
    }
    done.push(...(token.text.includes('?') ? rotated(sentence) : sentence), token);
    sentence = [];
  }
  return [...done, ...rotated(sentence)];
}

function rotated(sentence: readonly Token[]): readonly Token[] {
  const text = (at: number) => sentence[at]?.text.toLowerCase() ?? '';
  const first = text(0);
  if (first === 'when' && !auxiliaries.has(text(1))) return withLateTime(sentence);
  if (questions.has(first)) return withLateInsertion(sentence);
  if (!subordinators.has(first) && !prepositions.has(first)) return sentence;
  const comma = sentence.findLastIndex(
    ({ text: mark }, at) =>
      mark === ',' &&
      (questions.has(text(at + 1)) || (prepositions.has(first) && requests.has(text(at + 1)))),
  );
  if (comma < 0) return withLateOpening(sentence);
  // The question is already at the beginning in "for this, which".
  const isQuestion = comma > 1 && !questions.has(text(1)) && sentence.length > comma + 2;
  return isQuestion ? [...sentence.slice(comma + 1), ...sentence.slice(0, comma)] : sentence;
}

/** Moves a time to the end, unless it may belong to another verb: "what should I do when it fails". */
function withLateTime(sentence: readonly Token[]): readonly Token[] {
  const text = (at: number) => sentence[at]?.text.toLowerCase() ?? '';
  const comma = sentence.findIndex(({ text: mark }) => mark === ',');
  const question = sentence.slice(comma + 1);
  const isFree =
    comma > 2 &&
    questions.has(text(comma + 1)) &&
    question.length > 2 &&
    !question.some(({ text: word }) => word === ',' || clauseBearing.has(word.toLowerCase()));
  return isFree ? [...question, ...sentence.slice(0, comma)] : sentence;
}

const asking = wordSet('how what why where');
/** Words after a question word that make it a question and not a clause: "what does it", but "what it does". */
const inverting = wordSet('do does did can could should would');
const subjects = wordSet('i we you it they he she one the a an my our this that these');

/**
 * Rewrites "in Go how do I sort a list" as "how do I sort a list in Go", where the comma is missing. Only for names,
 * because "in a box" may say where a thing is.
 */
function withLateOpening(sentence: readonly Token[]): readonly Token[] {
  const text = (at: number) => sentence[at]?.text.toLowerCase() ?? '';
  const isQuestion = asking.has(text(2)) && inverting.has(text(3)) && subjects.has(text(4));
  const isFree =
    text(0) === 'in' &&
    /^\p{Lu}/u.test(sentence[1]?.text ?? '') &&
    isQuestion &&
    !sentence.slice(3).some(({ text: word }) => questions.has(word) && !inverting.has(word)) &&
    !sentence.some(
      ({ kind, text: word }) => kind === 'stop' || clauseBearing.has(word.toLowerCase()),
    );
  return isFree ? [...sentence.slice(2), ...sentence.slice(0, 2)] : sentence;
}

const maxInsertion = 6;

/** Rewrites "how do I, in Go, sort a list" as "how do I sort a list in Go". */
function withLateInsertion(sentence: readonly Token[]): readonly Token[] {
  const isComma = (token: Token | undefined) => token?.text === ',';
  const begin = sentence.findIndex(isComma);
  const end = sentence.findIndex((token, at) => at > begin && isComma(token));
  const isInserted =
    begin > 0 &&
    end > begin &&
    end - begin <= maxInsertion &&
    end < sentence.length - 1 &&
    prepositions.has(sentence[begin + 1]?.text.toLowerCase() ?? '');
  return isInserted
    ? [...sentence.slice(0, begin), ...sentence.slice(end + 1), ...sentence.slice(begin + 1, end)]
    : sentence;
}
