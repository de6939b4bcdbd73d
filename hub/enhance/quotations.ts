import { withPlainQuotes } from './canonical-text.ts';
import { isBareIn, withSpellingOf } from './shared-spelling.ts';

/** A name, path, option or signal without blanks in quotes or backticks. */
const quoted =
  /(?<![\p{L}\p{N}])(["'`])([\p{L}./~-][\p{L}\p{N}_$./~@:-]*(?:\(\))?|\d+(?:[/:-]\d+)+)\1(?![\p{L}\p{N}])/gu;
/** What is no word of the language: `SIGKILL`, `report.txt`, `userId`, `-z`, `2021-07-15`. */
const technical = /[_$./~@:\d-]|\(\)$|\p{Ll}\p{Lu}|^\p{Lu}{3}/u;
/** Literals, which are not the same as strings of their letters. */
const literal = /^(?:null|true|false|none|nan|undefined)$/i;
/** What a name in backticks stands before: "the `users` table". */
const kinds =
  /^ (?:table|column|branch|function|method|class|variable|field|package|module|service|container|image)\b/i;

/**
 * Writes single names in quotes or backticks as the other prompt has them: "the `users` table" as "the users table".
 * Single and double quotes stay different, as they are in code, and so do words with other letters or capitals. A text
 * behind a colon stays as it is.
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

/** A name stays bare only where the other prompt has it bare, and nowhere in quotes. */
function requoted(text: string, other: string, quotedThere: ReadonlySet<string>): string {
  return text.replaceAll(quoted, (all, mark: string, word: string, at: number) => {
    const isTable = mark === '`' && kinds.test(text.slice(at + all.length));
    if (literal.test(word) || !(technical.test(word) || isTable)) return all;
    if (quotedThere.has(word)) return mark === '`' ? `"${word}"` : all;
    return isBareIn(other, word) ? word : all;
  });
}
