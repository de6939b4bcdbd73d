import { type Lexeme, articles, definite, wordLexeme } from './lexemes.ts';
import { wordSet } from './words.ts';

const be = /^(?:is|are|was|were)$/;
export const auxiliary =
  /^(?:is|are|was|were|do|does|did|can|could|should|would|will|has|have|had|am|must|may)$/;
const clauseEnds = wordSet(
  'and or but that which who if when while because unless before after until so than',
);

/** Rewrites "why does the job not run" and "why the job does not run" as "why does not the job run". */
export function withEarlyNot(lexemes: readonly Lexeme[]): readonly Lexeme[] {
  const end = lexemes.findIndex(
    ({ kind, text }, at) => at > 0 && (kind === 'stop' || clauseEnds.has(text)),
  );
  const clause = end < 0 ? lexemes : lexemes.slice(0, end);
  const not = clause.findIndex(({ text }) => text === 'not');
  const verb = clause.findLastIndex(({ text }, at) => at < not && auxiliary.test(text));
  const [next, negation, auxiliaryVerb] = [clause[not + 1], clause[not], clause[verb]];
  const isFree =
    next && next.text !== 'only' && (be.test(auxiliaryVerb?.text ?? '') || !isObject(next));
  if (verb < 0 || !isFree || !negation || !auxiliaryVerb) return lexemes;
  const others = lexemes.filter((_, at) => at !== verb && at !== not);
  return [auxiliaryVerb, negation, ...others];
}

const isObject = ({ text }: Lexeme): boolean => articles.has(text) || definite.has(text);

/** Rewrites "the process the file was locked by" and "by which it was locked" as "the process that locked it". */
export function withRelative(lexemes: readonly Lexeme[]): readonly Lexeme[] {
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

const maxSubject = 8;

/** True if a question how, when or where something is or should be done ends before a modal verb. */
function asksHow(lexemes: readonly Lexeme[], modal: number): boolean {
  const [before, first] = [lexemes[modal - 1]?.text, lexemes[modal - 2]?.text];
  if (before === 'how') return true;
  const isWhen = before === 'when' || before === 'where';
  return lexemes[modal]?.text === 'should' && (isWhen || (before === 'often' && first === 'how'));
}

/** Rewrites "how should passwords be stored" as "how should i store passwords". */
export function activeVoice(lexemes: readonly Lexeme[]): readonly Lexeme[] {
  const be = lexemes.findIndex(({ text }) => text === 'be');
  const modal = lexemes.findLastIndex(
    ({ text }, at) => at < be && /^(?:can|could|should|must|shall|may)$/.test(text),
  );
  const verb = lexemes[be + 1];
  const subject = lexemes.slice(modal + 1, be);
  const isPassive =
    modal >= 0 &&
    verb?.form === 'ed' &&
    asksHow(lexemes, modal) &&
    subject.length > 0 &&
    subject.length <= maxSubject &&
    !subject.some(({ text }) => text === 'i' || text === 'not' || text === 'that') &&
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
