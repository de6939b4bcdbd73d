import { amountOf, compoundOf, numberOf } from './numbers.ts';
import { americanOf } from './stem.ts';
import * as words from './words.ts';

/** Kinds of tokens. `sign` is an operator or a bracket, `stop` is punctuation. */
export type Kind = 'word' | 'name' | 'number' | 'path' | 'identifier' | 'quote' | 'sign' | 'stop';

export type Token = {
  readonly kind: Kind;
  /** Text in normalized spelling. Words keep their case. */
  readonly text: string;
};

/** Pattern for a quotation in quotes or backticks on one line. An apostrophe inside a word is not a quote. */
const quotation =
  "`[^`\\n]+`|\"[^\"\\n]*\"|(?<![\\p{L}\\p{N}])'(?:[^'\\n]|(?<=\\p{L})'(?=\\p{L}))+'(?![\\p{L}\\p{N}])";

const quotations = new RegExp(quotation, 'gu');

/** Changes a text, except for its quotations. Meanwhile they are replaced by numbers between private-use characters. */
export function outsideQuotations(text: string, change: (rest: string) => string): string {
  const quoted: string[] = [];
  const rest = text.replaceAll(quotations, found => `\ue000${quoted.push(found) - 1}\ue001`);
  return change(rest).replaceAll(/\ue000(\d+)\ue001/g, (_, at: string) => quoted[Number(at)] ?? '');
}

const pieces = new RegExp(
  [
    `(?<quote>${quotation})`,
    '(?<glob>(?<!\\S)(?:[A-Za-z_.{?-][\\w.{},?-]*\\*|\\*[\\w.{},?*-])[\\w.{},?*-]*)',
    '(?<path>[a-z][a-z+.-]*://\\S+|(?<!\\S)--?[A-Za-z][\\w-]*|[\\w.@*:+~-]{0,200}[\\\\/][\\w.@*:+\\\\/~-]*)',
    '(?<dotted>\\.?[A-Za-z_$][\\w-]*(?:\\.[A-Za-z_][\\w-]*)+|(?<!\\S)\\.[A-Za-z][\\w-]*)',
    '(?<call>[A-Za-z_$][\\w$]*\\(\\))',
    '(?<number>(?:(?<=^|[\\s([=,])-)?[$€£]?v?\\d+(?:[.,:]\\d+)*(?:-[a-z]+(?:\\.\\d+)*)?(?:%|[\\p{L}]+)?)(?![\\p{L}\\p{N}_])',
    "(?<word>\\p{L}[\\p{L}\\p{M}\\p{N}_$]*(?:['-][\\p{L}\\p{N}]+)*(?:\\+\\+|#)?|_[\\w$]+)",
    '(?<sign>[=!<>]=+|(?<=\\d)!(?=\\s*[-+*/^=)])|->|=>|&&|\\|\\||!(?=[\\w(])|[-+*=<>&|^%~@#$()[\\]{}]|\\d+)',
    '(?<stop>[.?!;:,¿¡]+)',
    '(?<other>\\S)',
  ].join('|'),
  'gu',
);

const identifier = /_|\d|\p{Ll}\p{Lu}|\p{Lu}\p{Ll}+\p{Lu}/u;

/** Splits a text with plain typography into tokens. `isEnglish`: commas separate thousands. */
export function tokensOf(text: string, isEnglish: boolean): readonly Token[] {
  const found = [...text.matchAll(pieces)].map(({ groups = {} }) => groups);
  const isMixed = mixedNames(found);
  const tokens: Token[] = [];
  for (const [at, groups] of found.entries()) {
    const token = tokenOf(groups, isEnglish, isMixed);
    const before = tokens.at(-1);
    const isCounted = before?.kind === 'number' || ones.has(before?.text ?? '');
    const amount = before && isCounted && amountOf(before.text, groups['word'] ?? token.text);
    const compound =
      token.text.includes('-') && !groups['path'] ? compoundOf(token.text) : undefined;
    const [, times] = /^(\d+(?:\.\d+)?)x$/.exec(token.text) ?? [];
    const count = token.text.toLowerCase() === 'twice' ? '2' : times;
    if (count !== undefined)
      tokens.push({ kind: 'number', text: count }, { kind: 'word', text: 'times' });
    else if (amount) tokens[tokens.length - 1] = { kind: 'number', text: amount };
    else if (compound)
      tokens.push(
        { kind: 'number', text: compound.amount },
        ...compound.others.map(text => ({ kind: 'word', text }) as const),
      );
    else tokens.push(token);
    if (/[\w/]\.$/.test(groups['path'] ?? '') && at < found.length - 1)
      tokens.push({ kind: 'stop', text: '.' });
  }
  return tokens;
}

/** Words that mean 1 before "hundred" and the like. */
const ones = new Set(['a', 'an', 'one', 'A', 'An', 'One']);

type Groups = Readonly<Record<string, string | undefined>>;

const wordOf = ({ dotted, word }: Groups): string => dotted ?? word ?? '';

/** Returns the names and words that a text spells in two ways. The text may then be about their spelling. */
function mixedNames(found: readonly Groups[]): ReadonlySet<string> {
  const spellings = new Map<string, string>();
  const mixed = new Set<string>();
  for (const groups of found) {
    const written = wordOf(groups);
    if (!written) continue;
    const lower = written.toLowerCase();
    const known = words.names.get(lower);
    const [name, word] = known ? [known, written] : [americanOf(lower), lower];
    if ((spellings.get(name) ?? word) !== word) mixed.add(name);
    spellings.set(name, word);
  }
  return mixed;
}

function tokenOf(groups: Groups, isEnglish: boolean, isMixed: ReadonlySet<string>): Token {
  const { quote, glob, path, dotted, call, number, word, sign, other } = groups;
  if (quote) return { kind: 'quote', text: quote };
  if (glob) return { kind: 'path', text: glob.replace(/[.,?]+$/, '') };
  if (path) return { kind: 'path', text: path.replace(/(?<=[\w/])[.:]+$/, '') };
  const name = words.names.get(wordOf(groups).toLowerCase());
  if (name)
    return isMixed.has(name)
      ? { kind: 'identifier', text: wordOf(groups) }
      : { kind: 'name', text: name };
  if (dotted ?? call) return { kind: 'identifier', text: dotted ?? call ?? '' };
  const ordinal = number && words.ordinals.get(number);
  if (ordinal) return { kind: 'word', text: ordinal };
  if (number) return { kind: 'number', text: numberOf(number, isEnglish) };
  if (word && isMixed.has(americanOf(word.toLowerCase())))
    return { kind: 'identifier', text: word };
  if (word) return wordToken(word);
  if (sign ?? other) return { kind: 'sign', text: sign ?? other ?? '' };
  return { kind: 'stop', text: groups['stop'] ?? '' };
}

function wordToken(word: string): Token {
  const numeral = words.numerals.get(word.toLowerCase());
  if (numeral) return { kind: 'number', text: numeral };
  return { kind: identifier.test(word) ? 'identifier' : 'word', text: word };
}
