import { closed, vocabulary } from './phrases.ts';
import type { Form } from './stem.ts';
import type { Kind, Token } from './tokens.ts';
import * as words from './words.ts';

/** A word or other token, with its stem, as the guards compare it. */
export type Lexeme = {
  readonly kind: Kind;
  /** Text as compared: words in lower case. */
  readonly text: string;
  readonly stem: string;
  readonly form: Form;
  readonly raw: string;
};

export const articles = words.wordSet('a an the some');
export const definite = words.wordSet('the this these those that it my our');
export const prepositions: ReadonlyMap<string, string> = new Map(
  words
    .rowsOf(
      `in inside within at | on | of for | with using via through | to into onto | from | by | without |
      > | between | against | across | over | under | as | like | behind | beside | near | among | about | per`,
    )
    .flatMap(([first = '', ...rest]) => [first, ...rest].map(word => [word, first] as const)),
);
export const subordinators = words.wordSet(
  'if whether when while unless because before after until till since once although though so',
);

/** Verbs whose past form and participle equal the verb itself. */
export const unchanged = words.wordSet(
  'run set put cut read split shut reset hit cast rerun overrun',
);

/** HTTP methods. As names they are no verbs: a GET request is not "get a request". */
const methods = words.wordSet('GET PUT POST PATCH DELETE');

export const wordLexeme = (text: string): Lexeme => ({
  kind: 'word',
  text,
  stem: text,
  form: 'plain',
  raw: text,
});

const comma = { kind: 'stop', text: ',', stem: ',', form: 'plain', raw: ',' } as const;

/** Converts a token to lexemes. Compounds are split into words, and punctuation becomes a comma. */
export function lexemesOf({ kind, text }: Token, next: Token | undefined): readonly Lexeme[] {
  if (kind === 'stop') return [comma];
  if (kind === 'sign' && /^(?:-|--|\*|\(|\)|->)$/.test(text))
    return /^-+$/.test(text) ? [comma] : [];
  if (kind !== 'word') {
    const name = kind === 'name' ? text : `${kind} ${kind === 'quote' ? unquoted(text) : text}`;
    return [{ kind, text, stem: name, form: 'plain', raw: text }];
  }
  const written = text.includes("'") ? text.replace(/'s$|(?<=s)'$/, '') : text;
  const name = words.names.get(written.toLowerCase());
  if (name) return [{ kind: 'name', text: name, stem: name, form: 'plain', raw: text }];
  const parts = written.includes('-') && isSplit(written) ? written.split('-') : [written];
  return parts.filter(Boolean).map(part => {
    const lower = part.toLowerCase();
    const { stem, form } = vocabulary().stem(lower);
    // "A" is a name in "an A" and "vitamin C", but an article before a noun.
    const isArticle = part === 'A' && next?.kind === 'word' && isNoun(next.text.toLowerCase());
    const isLetter = part.length === 1 && part !== lower && part !== 'I' && !isArticle;
    // "a" is a name in "swap a and b".
    const isNamed = part === 'a' && behindNames.has(next?.text ?? '');
    const written = isNamed ? 'A' : isLetter || methods.has(part) ? part : undefined;
    return { kind, text: written ?? lower, stem: written ?? stem, form, raw: part };
  });
}

/** Words that follow a name, but not an article. */
const behindNames = words.wordSet('and or to into from by with is are that which = + ,');

/**
 * Removes quotes around a text, except around a single character, which may be about the quotes, and around `$` and
 * `\`, which a shell interprets differently in each kind of quotes.
 */
const unquoted = (text: string): string => /^(['"])([^$\\]{2,})\1$/.exec(text)?.[2] ?? text;

/** True if the hyphen changes the meaning of a compound: "a man-eating shark" is not "a man eating shark". */
export const staysCompound = (word: string): boolean => word.endsWith('-eating');

/** True if a compound can be read as separate words. */
const isSplit = (word: string) =>
  !staysCompound(word) &&
  !word
    .split('-')
    .some(part => prepositions.has(part) || part === 'up' || part === 'off' || part === 'out');

/** True for a word that makes an "A" before it an article. */
const isNoun = (word: string) =>
  !closed.has(word) && !vocabulary().verbs.has(vocabulary().stem(word).stem);
