import { type Lexeme, wordLexeme } from './lexemes.ts';
import { vocabulary } from './phrases.ts';
import { wordSet } from './words.ts';

const pronouns = wordSet('i we you it they he she');
const modals = wordSet('can could will would may');

/** Rewrites "in order to save memory" and "so that it saves memory" as "to save memory". */
export function withPlainPurpose(lexemes: readonly Lexeme[]): readonly Lexeme[] {
  const done: Lexeme[] = [];
  for (let at = 0; at < lexemes.length; at++) {
    const lexeme = lexemes[at];
    if (!lexeme) break;
    const length = purposeAt(lexemes, at);
    if (length > 0) done.push(wordLexeme('to'));
    else done.push(lexeme);
    at += Math.max(length - 1, 0);
  }
  return done;
}

/** Returns the number of words before the verb that mean "to"; 0 if they mean something else. */
function purposeAt(lexemes: readonly Lexeme[], start: number): number {
  const text = (at: number) => lexemes[at]?.text ?? '';
  if (text(start) === 'in' && text(start + 1) === 'order' && text(start + 2) === 'to') return 3;
  if (text(start) !== 'so') return 0;
  if (text(start + 1) === 'as' && text(start + 2) === 'to') return 3;
  let at = text(start + 1) === 'that' ? start + 2 : start + 1;
  if (!pronouns.has(text(at))) return 0;
  at++;
  if (modals.has(text(at))) at++;
  const verb = lexemes[at];
  const isVerb = verb !== undefined && verb.form !== 'ed' && vocabulary().verbs.has(verb.stem);
  return isVerb ? at - start : 0;
}
