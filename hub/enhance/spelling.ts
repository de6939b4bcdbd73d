import { withPlainAmounts } from './amounts.ts';
import { quoted } from './explanation.ts';
import { tokensOf } from './tokens.ts';

/** A prompt about spelling: there capitals, apostrophes, hyphens and accents are what is asked about. */
const aboutSpelling =
  /\b(?:spell\w*|misspell\w*|capitals?|capitali[sz]\w*|upper-?case\w*|lower-?case\w*|apostrophes?|hyphen\w*|punctuat\w*|accents?|correctly|grammatical\w*|dictionary|pronounc\w*)\b|\bin an? (?:\p{L}+ )?sentence\b/iu;

/** Words as written, without the punctuation around them. The first one of a sentence always has a capital. */
const wordsOf = (text: string): readonly string[] =>
  text
    .replace(/^\s*\p{Lu}/u, first => first.toLowerCase())
    .split(/\s+/)
    .map(word => word.replaceAll(/^["'`(*]+|["'`)*.,;:!?]+$/g, ''));

const lettersOf = (word: string): string =>
  word
    .normalize('NFD')
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase();

const marksIn = (text: string): string =>
  text.replace(/[.?!\s]*$/, '').replaceAll(/[^.,;:!?'’-]/gu, '');

/** A prompt about characters, among which dashes and quotation marks are not the same. */
const aboutCharacters = /\b(?:characters?|dash(?:es)?|symbols?|keyboard|keys?|unicode|type)\b/i;
const charactersIn = (text: string): string =>
  (text.match(/[^\p{L}\p{N}\s.,?!'"’“”():;/-]/gu) ?? []).join('');

/** A number with what is written at its sides: "$5", "5 ft", "9am-5pm". */
const amount = /[$€£]?\d[\d.,]*(?:-\d[\d.,]*)?(?: ?(?:%|°?\p{L}+))?/gu;
/** A prompt about other units: there the one that is written counts. */
const aboutUnits =
  /\bhow many (?:(?:milli)?seconds|minutes|hours|days|weeks|months|years|(?:kilo|centi|milli)?(?:meters|metres|grams|bytes)|miles|feet|inches|ounces|pounds) (?:is|are)\b|\bconvert \d[\d.,]* ?(?!am\b|pm\b)\p{L}+ (?:in)?to\b/iu;
const digitsIn = (text: string): string =>
  (text.match(/\d[\d.,]*/g) ?? []).map(digits => digits.replaceAll(/,|\.$/g, '')).join(' ');

/** Longer prompts, in characters, are not about a notation. */
const maxLength = 1_000;

/** Whether a prompt writes one amount in two notations, and so is about them. */
function hasTwoNotations(text: string): boolean {
  if (text.length > maxLength) return false;
  const written = new Set((text.match(amount) ?? []).map(one => one.trim()));
  if (written.size < 2) return false;
  const read = new Set(
    [...written].map(one =>
      withPlainAmounts(tokensOf(one, true))
        .map(token => token.text)
        .join(' '),
    ),
  );
  return read.size < written.size;
}

/** Whether a prompt is about a dash or the like, which plain typography replaces. */
const isAboutDashes = (prompt: string): boolean =>
  aboutCharacters.test(prompt) && /[\u2010-\u2015\u2026]/.test(prompt);

/** Whether a prompt is about the characters or notations in it: only an equal one is the same. */
export const isAsWritten = (prompt: string, request: string): boolean =>
  hasTwoNotations(request) || isAboutDashes(prompt);

/** Finds what is spelled differently in two prompts, one of which is about spelling, notations or units. */
export function otherSpelling(a: string, b: string): string | undefined {
  const prompts = [a, b];
  if (prompts.some(hasTwoNotations)) return 'about notations, and not equal';
  if (prompts.every(text => aboutCharacters.test(text)) && charactersIn(a) !== charactersIn(b))
    return 'other characters';
  if (prompts.every(text => aboutUnits.test(text))) {
    const [mine, theirs] = [digitsIn(a), digitsIn(b)];
    if (mine !== '' && theirs !== '' && mine !== theirs)
      return 'other digits in a question about units';
  }
  if (!prompts.some(text => aboutSpelling.test(text))) return undefined;
  if (/punctuat/i.test(a) && marksIn(a) !== marksIn(b)) return 'other punctuation';
  const [mine, theirs] = [wordsOf(a), wordsOf(b)];
  for (const word of mine) {
    const letters = lettersOf(word);
    const other = theirs.find(one => !mine.includes(one) && lettersOf(one) === letters);
    if (letters !== '' && other !== undefined && !theirs.includes(word))
      return `another spelling: ${quoted([word])} and ${quoted([other])}`;
  }
  return undefined;
}
