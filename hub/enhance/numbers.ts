import { units } from './units.ts';
import { numerals, tableOf, wordSet } from './words.ts';

const zeros = tableOf('hundred 00 | thousand 000 | million 000000');

/**
 * Joins a number and the next word to one number: "10 ms", "one hour", "five hundred", "twenty five", "a dozen".
 * Undefined if the word does not belong to the number.
 */
export function amountOf(before: string, word: string): string | undefined {
  const lower = word.toLowerCase();
  const isOne = /^(?:an?|one)$/i.test(before);
  const count = isOne ? '1' : before;
  const scale = zeros.get(lower);
  const isWhole = /^\d+$/.test(count);
  if (scale !== undefined) return isWhole ? count + scale : undefined;
  if (lower === 'dozen') return isWhole ? String(12 * Number(count)) : undefined;
  const [tens, ones] = [Number(before), Number(numerals.get(lower))];
  if (tens >= 20 && tens < 100 && tens % 10 === 0 && ones < 10) return String(tens + ones);
  const unit = units.get(word);
  // "a day" may mean any day, and "one second" the second of something.
  const isUnit = isOne ? before.toLowerCase() === 'one' && lower !== 'second' : /\d$/.test(before);
  return unit && isUnit ? count + unit : undefined;
}

const versionSuffixes = wordSet(
  'alpha beta preview canary nightly snapshot final next stable alpine slim bullseye bookworm jammy focal',
);

/** Splits compounds that begin with a number: "two-page" into 2 and "page". "3-day" becomes 3d. */
export function compoundOf(
  text: string,
): { readonly amount: string; readonly others: readonly string[] } | undefined {
  const [, first = '', second = ''] = /^(\d+(?:\.\d+)?|\p{L}+)-(\p{L}[\p{L}-]*)$/u.exec(text) ?? [];
  const isDigits = /^\d/.test(first);
  const lower = first.toLowerCase();
  const number = isDigits ? first : lower === 'one' ? '1' : numerals.get(lower);
  const [head = '', ...rest] = second.split('-');
  if (!number) return undefined;
  const amount = amountOf(lower === 'one' ? 'one' : number, head);
  if (amount) return { amount, others: rest };
  // "5-rc" and "18-alpine" are versions.
  const isVersion = isDigits && (head.length < 4 || versionSuffixes.has(head));
  return isVersion ? undefined : { amount: number, others: [head, ...rest] };
}

const thousands = tableOf('k 000');
/** Suffixes of an amount of money, with their zeros. Elsewhere, "4K" is a size of pictures. */
const multiples = tableOf('k 000 | K 000 | M 000000 | m 000000');

/** Normalizes a number without spaces: removes separators of thousands, and spells its unit in the common way. */
export function numberOf(written: string, isEnglish: boolean): string {
  const [, currency = '', digits = written, unit = ''] =
    /^([$€£]?)(.*?\d)(%|\p{L}+)?$/u.exec(written) ?? [];
  const isThousands = isEnglish && /^\d{1,3}(?:,\d{3})+$/.test(digits);
  const amount = isThousands ? digits.replaceAll(',', '') : digits;
  const money = units.get(currency) ?? '';
  const zeros = money === '' ? thousands.get(unit) : multiples.get(unit);
  if (zeros !== undefined && /^\d+$/.test(amount)) return amount + zeros + money;
  if (zeros !== undefined && money !== '' && /^\d+\.\d{1,3}$/.test(amount))
    return `${Math.round(Number(amount) * Number(`1${zeros}`))}${money}`;
  if (money !== '' && unit === '') return amount.replace(/\.00$/, '') + money;
  return amount + (units.get(unit) ?? unit) + money;
}
