import * as words from '../words.ts';

/** Length in characters from which a run without whitespace counts as data. */
const maxRun = 500;
const runs = new RegExp(`\\S{${maxRun},}`, 'g');
const maxBlanks = 40;

/** Returns the runs of data in a text, which are compared as a whole. */
export const longRuns = (text: string): readonly string[] =>
  withBreaks(text)
    .match(runs)
    ?.filter(run => !unspaced.test(run)) ?? [];

/** Removes runs of data and long whitespace from a text, which bounds the time of regular expressions. */
export const bounded = (text: string): string =>
  withBreaks(text)
    .replaceAll(runs, ' ')
    .replaceAll(/[^\S\n]{40,}/g, ' '.repeat(maxBlanks))
    .replaceAll(/(?:\n[^\S\n]*){9,}/g, '\n\n');

/** Matches scripts without spaces between words. */
export const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

const withBreaks = (text: string) =>
  text.replaceAll(/[\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f]/g, '$& ');

export const straightQuotes = (text: string): string =>
  text
    .replaceAll(/[\u2018\u2019\u02bc]/g, "'")
    .replaceAll(/\u00ab\s?|\s?\u00bb|[\u201c\u201d\u201e]/g, '"');

/** Returns a text without code, quotations, paths and Markdown: the words that its author wrote. */
export function proseOf(text: string): string {
  return straightQuotes(text)
    .replaceAll(/```[\s\S]*?(?:```|$)/g, '\n')
    .replaceAll(/<\/?[a-z][^<>\n]*>/gi, ' ')
    .replaceAll(/`[^`\n]*`|"[^"\n]*"|(?<![\p{L}\p{N}])'[^'\n]+'(?![\p{L}\p{N}])|\S+[/\\]\S+/gu, ' ')
    .replaceAll(/^[ \t]*(?:[-*+\u2022]|#+|\d+[.)]|>)[ \t]+/gm, '')
    .replaceAll(/\*\*|__|(?<=\s|^)[*_](?=\p{L})/gmu, '');
}

/** Splits a text into sentences, with their punctuation. Headings and list items count as sentences. */
export const sentencesOf = (prose: string): readonly string[] =>
  prose
    .split(/\n+|(?<=[.?!:;\u3002\uff1f\uff01])\s+/)
    .map(sentence => sentence.trim())
    .filter(sentence => /\p{L}/u.test(sentence));

/** Returns the words of a text in lower case. */
export const lowerWords = (sentence: string): readonly string[] =>
  sentence.toLowerCase().match(/[\p{L}\p{M}\p{N}_]+(?:['-][\p{L}\p{N}]+)*/gu) ?? [];

/** Words that a rewrite may change or drop. */
const free =
  words.wordSet(`please pls plz kindly thanks thank hi hello hey okay sure need want wants like
  would really very quite something one thing things stuff some any more lot good nice well just get got got
  understand learn know max min make about into onto than then there here have has had been being be am me him her them us you your
  yours mine his hers its i'd i'm i've i'll let's what's whats how's hows it's that's can't
  bitte mal danke etwas ich mir mich du dir dich sie wir uns ihr man sich es auch noch schon wäre hätte
  unter über sowie sehr mehr weniger aber denn mais car donc puis aussi plus moins chez vers
  pero más menos muy sobre entre bajo per che non con una uno
  moi me te nous vous il elle on y se sa son ses leur est sont
  me mi te tú nos lo le ella él ellos`);

/** Returns the words of a sentence that carry its meaning. */
export const contentWords = (sentence: string): readonly string[] =>
  lowerWords(sentence).filter(
    word =>
      word.length > 2 &&
      !free.has(word) &&
      !words.small.has(word) &&
      !words.questions.has(word) &&
      !words.negators.has(word) &&
      !word.endsWith("n't"),
  );

const stemOf = (word: string): string =>
  word
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .replace(/'s$/, '')
    .replace(/(?<=..)(?:ings?|ed|es|ern|en|er|s|e|n|ez|ées?|és?)$/u, '');

/** Returns a function that returns true for words that are likely forms or synonyms of one of the given words. */
export function alikeTo(given: readonly string[]): (word: string) => boolean {
  const known = new Set(given);
  const others = Array.from(known, other => [other, stemOf(other)] as const);
  return word => {
    if (known.has(word)) return true;
    const stem = stemOf(word);
    return others.some(
      ([other, otherStem]) => isSameStem(stem, otherStem) || words.areSynonyms(word, other),
    );
  };
}

function isSameStem(left: string, right: string): boolean {
  const [short, long] = left.length < right.length ? [left, right] : [right, left];
  const same = words.commonLength(short, long);
  if (same === long.length || same >= 5) return true;
  if (same >= 3 && same === short.length && long.length - same <= 3) return true;
  // Compounds: "word" is a part of "bareword".
  return short.length >= 4 && long.includes(short);
}
