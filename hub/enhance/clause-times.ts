import { type Lexeme, definite } from './lexemes.ts';
import { closed } from './phrases.ts';
import { wordSet } from './words.ts';

const determiners = wordSet('next last');
const periods = wordSet(
  'week~ month~ year~ quarter~ weekend~ monday~ tuesday~ wednesday~ thursday~ friday~ saturday~ sunday~',
);
const days = wordSet('today tomorrow yesterday tonight');

/** True if an adverb of time describes a noun: "the weekly report" is not sent every week. */
export const isTimeOfThing = ({ raw }: Lexeme, before: Lexeme | undefined): boolean =>
  raw.endsWith('ly') && definite.has(before?.text ?? '');

/**
 * True if an adverb of time belongs to the noun after it: "a plan for a weekly call" is not a weekly plan. `isObject`:
 * no preposition precedes the adverb in its part of the clause.
 */
export const isTimeBehind = (
  { raw }: Lexeme,
  next: Lexeme | undefined,
  isObject: boolean,
): boolean => raw.endsWith('ly') && !isObject && next?.kind === 'word' && !closed.has(next.text);

/** True if a word is or begins a time or frequency: "today", "every month", "next week". */
export const beginsTime = ({ text }: Lexeme, next: Lexeme | undefined): boolean =>
  days.has(text) ||
  (text.startsWith('every') && text !== 'every') ||
  (determiners.has(text) && periods.has(next?.stem ?? ''));

/** True for the second word of "next week". */
export const endsTime = ({ stem }: Lexeme, before: Lexeme | undefined): boolean =>
  determiners.has(before?.text ?? '') && periods.has(stem);

/** True if a sentence has exactly one time. Of two times, each belongs to the words beside it. */
export const hasOneTime = (lexemes: readonly Lexeme[]): boolean =>
  lexemes.filter((lexeme, at) => beginsTime(lexeme, lexemes[at + 1])).length === 1;
