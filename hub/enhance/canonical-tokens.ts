import { names } from './words-names.ts';
import { numerals, units } from './words-numbers.ts';

/** Kinds of tokens. `sign` is an operator or a bracket, `stop` is punctuation. */
export type Kind = 'word' | 'name' | 'number' | 'path' | 'identifier' | 'quote' | 'sign' | 'stop';

/** A token of a prompt. */
export type Token = {
  readonly kind: Kind;
  /** Normalized spelling. Words keep their case. */
  readonly text: string;
};

const pieces = new RegExp(
  [
    '(?<quote>`[^`\\n]+`|"[^"\\n]*"|(?<![\\p{L}\\p{N}])\'[^\'\\n]+\'(?![\\p{L}\\p{N}]))',
    '(?<path>[a-z][a-z+.-]*://\\S+|(?<!\\S)--?[A-Za-z][\\w-]*|[\\w.@*:+~-]{0,200}[\\\\/][\\w.@*:+\\\\/~-]*)',
    '(?<dotted>\\.?[A-Za-z_$][\\w-]*(?:\\.[A-Za-z_][\\w-]*)+|(?<!\\S)\\.[A-Za-z][\\w-]*)',
    '(?<call>[A-Za-z_$][\\w$]*\\(\\))',
    '(?<number>[$€]?v?\\d+(?:[.,:]\\d+)*(?:-[a-z]+(?:\\.\\d+)*)?(?:%|[\\p{L}]+)?)(?![\\p{L}\\p{N}_])',
    "(?<word>\\p{L}[\\p{L}\\p{M}\\p{N}_$]*(?:['-][\\p{L}\\p{N}]+)*(?:\\+\\+|#)?|_[\\w$]+)",
    '(?<sign>[=!<>]=+|->|=>|&&|\\|\\||!(?=[\\w(])|[-+*=<>&|^%~@#$()[\\]{}]|\\d+)',
    '(?<stop>[.?!;:,¿¡]+)',
    '(?<other>\\S)',
  ].join('|'),
  'gu',
);

const identifier = /_|\d|\p{Ll}\p{Lu}|\p{Lu}\p{Ll}+\p{Lu}/u;

/** Splits a text in plain typography into tokens. `isEnglish`: commas separate thousands. */
export function tokensOf(text: string, isEnglish: boolean): readonly Token[] {
  const found = [...text.matchAll(pieces)].map(({ groups = {} }) => groups);
  const isMixed = mixedNames(found);
  const tokens: Token[] = [];
  for (const groups of found) {
    const token = tokenOf(groups, isEnglish, isMixed);
    const unit = units.get(token.text);
    const before = tokens.at(-1);
    // "10 ms" equals "10ms".
    if (token.kind === 'word' && unit && before?.kind === 'number' && /\d$/.test(before.text))
      tokens[tokens.length - 1] = { kind: 'number', text: before.text + unit };
    else tokens.push(token);
  }
  return tokens;
}

type Groups = Readonly<Record<string, string | undefined>>;

const wordOf = ({ dotted, word }: Groups): string => dotted ?? word ?? '';

/** Names with two spellings in one text, which is then about the spelling. */
function mixedNames(found: readonly Groups[]): ReadonlySet<string> {
  const first = new Map<string, string>();
  return new Set(
    found.map(wordOf).flatMap(written => {
      const name = names.get(written.toLowerCase());
      if (!name) return [];
      const earlier = first.get(name) ?? written;
      first.set(name, earlier);
      return earlier === written ? [] : [name];
    }),
  );
}

function tokenOf(groups: Groups, isEnglish: boolean, isMixed: ReadonlySet<string>): Token {
  const { quote, path, dotted, call, number, word, sign, other } = groups;
  if (quote) return { kind: 'quote', text: quote };
  if (path) return { kind: 'path', text: path.replace(/(?<=[\w/])[.:]+$/, '') };
  const name = names.get(wordOf(groups).toLowerCase());
  if (name)
    return isMixed.has(name)
      ? { kind: 'identifier', text: wordOf(groups) }
      : { kind: 'name', text: name };
  if (dotted ?? call) return { kind: 'identifier', text: dotted ?? call ?? '' };
  if (number) return { kind: 'number', text: amountOf(number, isEnglish) };
  if (word) return wordToken(word);
  if (sign ?? other) return { kind: 'sign', text: sign ?? other ?? '' };
  return { kind: 'stop', text: groups['stop'] ?? '' };
}

function wordToken(word: string): Token {
  const numeral = numerals.get(word.toLowerCase());
  if (numeral) return { kind: 'number', text: numeral };
  return { kind: identifier.test(word) ? 'identifier' : 'word', text: word };
}

/** A number without separators of thousands, with its unit in normalized spelling. */
function amountOf(written: string, isEnglish: boolean): string {
  const [, digits = written, unit = ''] = /^(.*?\d)(%|\p{L}+)$/u.exec(written) ?? [];
  const isThousands = isEnglish && /^[$€]?\d{1,3}(?:,\d{3})+$/.test(digits);
  return (isThousands ? digits.replaceAll(',', '') : digits) + (units.get(unit) ?? unit);
}
