import { withPlainQuotes } from './canonical-text.ts';

/** A word, name or path without blanks in quotes or backticks. */
const quoted =
  /(?<![\p{L}\p{N}])(["'`])([\p{L}\p{N}_$./~@:-]*[\p{L}/:-][\p{L}\p{N}_$./~@:-]*(?:\(\))?)\1(?![\p{L}\p{N}])/gu;
const marks = /["'`]/;

/**
 * Writes single words in quotes or backticks as the other prompt has them: "the `users` table" as "the users table".
 * Single and double quotes stay different, as they are in code, and so do words with other letters or capitals. A text
 * behind a colon stays as it is.
 */
export function withQuotesAlike(a: string, b: string): readonly [string, string] {
  const [one, other] = [withPlainQuotes(a), withPlainQuotes(b)];
  const isLine = (text: string) => !/\n|:\s/.test(text);
  if (!(marks.test(one) || marks.test(other)) || !isLine(one) || !isLine(other)) return [a, b];
  const [mine, theirs] = [quotedIn(one), quotedIn(other)];
  return [requoted(one, other, theirs), requoted(other, one, mine)];
}

const quotedIn = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(quoted)].map(([, , word = '']) => word));

/** A word stays bare only where the other prompt has it bare, and nowhere in quotes. */
function requoted(text: string, other: string, quotedThere: ReadonlySet<string>): string {
  return text.replaceAll(quoted, (all, mark: string, word: string) => {
    if (quotedThere.has(word)) return mark === '`' ? `"${word}"` : all;
    return isBareIn(other, word) ? word : all;
  });
}

function isBareIn(text: string, word: string): boolean {
  const at = text.indexOf(word);
  const [before, after] = [text[at - 1] ?? ' ', text[at + word.length] ?? ' '];
  return at >= 0 && /[\s(,]/.test(before) && /[\s),.?!;:]/.test(after);
}
