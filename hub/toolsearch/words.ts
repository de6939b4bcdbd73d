/** Stop words: words of queries and descriptions that say nothing about a tool. */
const stopWords = new Set(
  `a an and are as at be by can do for from has have how i if in into is it its me my of on or our please that the
  their them then there these this those to us use used using want was we what when where which who will with would
  you your`.split(/\s+/),
);

/** Maximum length of words that have a stem, in characters. Longer ones are data, and take quadratic time. */
const maxStemmedLength = 100;

/** Matches a run of letters and digits. In scripts without spaces, each character of a match counts as a word. */
const wordPattern = /[\p{L}\p{N}]+/gu;
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

/** Splits names into words: `createIssue`, `create_issue` and `create-issue` become "create issue", except for case. */
export const splitName = (name: string): string =>
  name.replaceAll(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2').replaceAll(/[_-]/g, ' ');

/** Returns the stems of the words in a text, in their order, without stop words. */
export function wordsOf(text: string): readonly string[] {
  const found: string[] = [];
  for (const [word] of splitName(text).toLowerCase().matchAll(wordPattern))
    if (unspaced.test(word)) found.push(...Array.from(word));
    else if (!stopWords.has(word)) found.push(stemOf(word));
  return found;
}

/** Returns a text without its stop words, or the text itself if it has no other words. */
export function keywordsOf(text: string): string {
  const words = text.match(/[\p{L}\p{N}_'-]+/gu) ?? [];
  return words.filter(word => !stopWords.has(word.toLowerCase())).join(' ') || text;
}

/**
 * Returns a word without endings of plurals, participles and verbs, so that "files", "filed" and "file" are equal. A
 * stem need not be a word. Removes less than Porter's stemmer, which makes "general" and "generate" equal.
 */
export function stemOf(word: string): string {
  if (word.length <= 3 || word.length > maxStemmedLength) return word;
  if (/[^aeiou]ies$/.test(word)) return `${word.slice(0, -3)}y`;
  let stem = word;
  if (/(?:ss|sh|ch|x|zz)es$/.test(stem)) stem = stem.slice(0, -2);
  else if (/[^sui]s$/.test(stem)) stem = stem.slice(0, -1);
  if (stem.length > 5 && /[aeiouy].*ing$/.test(stem)) stem = stem.slice(0, -3);
  else if (/[aeiouy].*[^e]ed$/.test(stem)) stem = stem.slice(0, -2);
  if (stem.length > 4 && /([^lsfz])\1$/.test(stem)) stem = stem.slice(0, -1);
  return stem.length > 3 && stem.endsWith('e') ? stem.slice(0, -1) : stem;
}
