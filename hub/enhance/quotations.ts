import { withPlainQuotes } from './canonical-text.ts';
import { isBareIn, withSpellingOf } from './shared-spelling.ts';

/** Matches a name, path, option or signal without spaces, in quotes or backticks. */
const quoted =
  /(?<![\p{L}\p{N}])(["'`])([\p{L}./~-][\p{L}\p{N}_$./~@:-]*(?:\(\))?|\d+(?:[/:-]\d+)+)\1(?![\p{L}\p{N}])/gu;
/** Matches technical names, which are not words: `SIGKILL`, `report.txt`, `userId`, `-z`, `2021-07-15`. */
const technical = /[_$./~@:\d-]|\(\)$|\p{Ll}\p{Lu}|^\p{Lu}{3}/u;
/** Literals. They differ from strings of the same letters. */
const literal = /^(?:null|true|false|none|nan|undefined)$/i;
/** Matches a noun after a name in backticks: "the `users` table". */
const kinds =
  /^ (?:table|column|branch|function|method|class|variable|field|package|module|service|container|image)\b/i;

/**
 * Returns both prompts with single names quoted alike: "the `users` table" as "the users table" if the other prompt has
 * no quotes. Single and double quotes remain different, as in code, and so do words with other letters or capitals.
 * Prompts with a text after a colon are not changed.
 */
export function withQuotesAlike(a: string, b: string): readonly [string, string] {
  const [one, other] = [withPlainQuotes(a), withPlainQuotes(b)];
  const isLine = (text: string) => !/\n|:\s/.test(text);
  if (!isLine(one) || !isLine(other)) return [a, b];
  const [mine, theirs] = [quotedIn(one), quotedIn(other)];
  const [left, right] = [requoted(one, other, theirs), requoted(other, one, mine)];
  return [withSpellingOf(left, right), withSpellingOf(right, left)];
}

const quotedIn = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(quoted)].map(([, , word = '']) => word));

/** Removes the quotes of a name only if the other prompt has the name without quotes, and nowhere with quotes. */
function requoted(text: string, other: string, quotedThere: ReadonlySet<string>): string {
  return text.replaceAll(quoted, (all, mark: string, word: string, at: number) => {
    const isTable = mark === '`' && kinds.test(text.slice(at + all.length));
    if (literal.test(word) || !(technical.test(word) || isTable)) return all;
    if (quotedThere.has(word)) return mark === '`' ? `"${word}"` : all;
    return isBareIn(other, word) ? word : all;
  });
}
