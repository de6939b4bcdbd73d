import { withPlainAmounts } from './amounts.ts';
import { quoted } from './explanation.ts';
import { tokensOf } from './tokens.ts';

/** Matches prompts about spelling, in which capitals, apostrophes, hyphens and accents matter. */
const aboutSpelling =
  /\b(?:spell\w*|misspell\w*|capitals?|capitali[sz]\w*|upper-?case\w*|lower-?case\w*|apostrophes?|hyphen\w*|punctuat\w*|accents?|correctly|grammatical\w*|dictionary|pronounc\w*)\b|\bin an? (?:\p{L}+ )?sentence\b/iu;

/** Returns the words as written, without punctuation. The initial capital of a sentence becomes lower case. */
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

/** Matches prompts about characters, in which kinds of dashes and quotation marks differ. */
const aboutCharacters = /\b(?:characters?|dash(?:es)?|symbols?|keyboard|keys?|unicode|type)\b/i;
const charactersIn = (text: string): string =>
  (text.match(/[^\p{L}\p{N}\s.,?!'"’“”():;/-]/gu) ?? []).join('');

/** Matches a number with its unit or currency: "$5", "5 ft", "9am-5pm". */
const amount = /[$€£]?\d[\d.,]*(?:-\d[\d.,]*)?(?: ?(?:%|°?\p{L}+))?/gu;
/** Matches questions about a conversion, in which the unit as written matters. */
const aboutUnits =
  /\bhow many (?:(?:milli)?seconds|minutes|hours|days|weeks|months|years|(?:kilo|centi|milli)?(?:meters|metres|grams|bytes)|miles|feet|inches|ounces|pounds) (?:is|are)\b|\bconvert \d[\d.,]* ?(?!am\b|pm\b)\p{L}+ (?:in)?to\b/iu;
const digitsIn = (text: string): string =>
  (text.match(/\d[\d.,]*/g) ?? []).map(digits => digits.replaceAll(/,|\.$/g, '')).join(' ');

/** Maximum length in characters of prompts that may be about a notation. */
const maxLength = 1_000;

/** True if a prompt has the same amount in two notations: a prompt about the notations themselves. */
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

/** True if a prompt is about characters such as dashes, which plain typography replaces. */
const isAboutDashes = (prompt: string): boolean =>
  aboutCharacters.test(prompt) && /[\u2010-\u2015\u2026]/.test(prompt);

/** True if a prompt is about its characters or notations: only an equal prompt is the same request. */
export const isAsWritten = (prompt: string, request: string): boolean =>
  hasTwoNotations(request) || isAboutDashes(prompt);

/** Returns a difference in spelling, if a prompt is about spelling, notations or units; otherwise undefined. */
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
