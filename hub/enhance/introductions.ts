import { prepositions, subordinators } from './lexemes.ts';
import type { Token } from './tokens.ts';
import { requests, wordSet } from './words.ts';

const questions = wordSet(
  'what which who how why when where can could should is are do does did will would',
);

/** "before I upgrade, what should I check?" as "what should I check before I upgrade?" */
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
  if (questions.has(first)) return withLateInsertion(sentence);
  if (!subordinators.has(first) && !prepositions.has(first)) return sentence;
  const comma = sentence.findLastIndex(
    ({ text: mark }, at) =>
      mark === ',' &&
      (questions.has(text(at + 1)) || (prepositions.has(first) && requests.has(text(at + 1)))),
  );
  // "for this, which" has its question in front, too.
  const isQuestion = comma > 1 && !questions.has(text(1)) && sentence.length > comma + 2;
  return isQuestion ? [...sentence.slice(comma + 1), ...sentence.slice(0, comma)] : sentence;
}

const maxInsertion = 6;

/** "how do I, in Go, sort a list" as "how do I sort a list in Go". */
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
