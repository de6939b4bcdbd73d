import { countSmallWords } from '../words.ts';
import { alikeTo, lowerWords, proseOf } from './text.ts';

const scripts = ['Latin', 'Cyrillic', 'Greek', 'Arabic', 'Hebrew', 'Devanagari', 'Thai', 'Hangul'];
const patterns = [
  ...scripts.map(name => new RegExp(`\\p{Script=${name}}`, 'gu')),
  // Only Japanese has kana. Han characters are counted separately, because Chinese has them as well.
  /[\p{Script=Hiragana}\p{Script=Katakana}]/gu,
  /\p{Script=Han}/gu,
];

/** Returns the share of each script in the letters of a text. */
function scriptShares(text: string): readonly number[] {
  const counts = patterns.map(pattern => text.match(pattern)?.length ?? 0);
  const all = counts.reduce((sum, count) => sum + count, 0);
  return counts.map(count => (all === 0 ? 0 : count / all));
}

/** Returns the language of a text if its small words are clearly of one language. */
export function clearLanguage(text: string): string | undefined {
  const [first, second] = countSmallWords(lowerWords(text));
  const isClear = first && first.count >= 2 && first.count >= 2 * (second?.count ?? 0);
  return isClear ? first.name : undefined;
}

/** Returns the language of the request that a text begins with; a text in another language may follow. */
const requestLanguage = (prose: string) => clearLanguage(prose.split(/:\s|\n/)[0] ?? '');

const maxLength = 2_000;

/** Returns how the language of a result differs from that of its prompt; undefined if it does not, or is unknown. */
export function otherLanguage(prompt: string, result: string): string | undefined {
  const [from, to] = [proseOf(prompt), proseOf(result)];
  const [asked, written] = [scriptShares(from), scriptShares(to)];
  const isOtherScript = written.some((share, at) => share > 0.5 && (asked[at] ?? 0) < 0.15);
  if (isOtherScript && asked.some(share => share > 0)) return 'it wrote in another script';
  const mine = requestLanguage(from);
  const theirs = [clearLanguage(to), requestLanguage(to)];
  const [other] = theirs.filter(name => name !== undefined);
  if (other === undefined) return undefined;
  if (mine !== undefined)
    return theirs.includes(mine) || theirs.includes(clearLanguage(from))
      ? undefined
      : `it wrote in another language (${other} instead of ${mine})`;
  // The prompt may be in an unknown language. The result is in another one if it has few of the prompt's words.
  const words = lowerWords(from.slice(0, maxLength)).filter(word => word.length > 2);
  const foreign = words.filter(word => /[^\p{ASCII}']/u.test(word));
  if (words.length < 4 || foreign.length < 2) return undefined;
  const kept = words.filter(alikeTo(lowerWords(to)));
  return kept.length < words.length / 4 ? `it wrote in another language (${other})` : undefined;
}
