import { type ReadTime, readDate, readMoment } from './moments.ts';
import type { Token } from './tokens.ts';
import { units } from './units.ts';
import { tableOf, wordSet } from './words.ts';

/** An amount that was recognized: the number of tokens it replaces, and its tokens in the common spelling. */
type Reading = { readonly length: number; readonly tokens: readonly Token[] };

const number = (text: string): Token => ({ kind: 'number', text });
const word = (text: string): Token => ({ kind: 'word', text });

/**
 * Rewrites each amount in a common spelling: "half an hour" is 30 minutes, "2:30 am" is 2:30, "a quarter of" is 25 %,
 * "once every other week" is "every 2 weeks".
 */
export function withPlainAmounts(tokens: readonly Token[]): readonly Token[] {
  const plain: Token[] = [];
  for (let at = 0; at < tokens.length;) {
    const place = { tokens, at, before: plain };
    const token = tokens[at];
    const isCandidate = token?.kind === 'number' || beginnings.has(token?.text.toLowerCase() ?? '');
    const found = isCandidate ? firstOf(place) : undefined;
    plain.push(...(found?.tokens ?? (token ? [token] : [])));
    at += found?.length ?? 1;
  }
  return plain;
}

/** Words that an amount may begin with. */
const beginnings = wordSet(
  `a an one the under below over above half quarter fifth tenth noon midnight once on every per fortnight fortnightly biweekly
  january february march april may june july august september october november december
  first second third fourth sixth seventh eighth ninth eleventh twelfth thirteenth fourteenth fifteenth sixteenth
  seventeenth eighteenth nineteenth twentieth`,
);

function firstOf(place: Place): Reading | undefined {
  for (const read of readers) {
    const reading = read(place);
    if (reading) return reading;
  }
  return undefined;
}

type Place = {
  readonly tokens: readonly Token[];
  readonly at: number;
  /** Rewritten tokens before this place. */
  readonly before: readonly Token[];
};

const readers: readonly ((place: Place) => Reading | undefined)[] = [
  ({ tokens, at }) => fromMoment(readDate(tokens, at) ?? readMoment(tokens, at)),
  readHalves,
  readShare,
  readScale,
  readRhythm,
  readRate,
  readUnit,
  readOrdinal,
  readLimit,
];

/** Rewrites "under 250 words" as "less than 250 words". */
function readLimit({ tokens, at }: Place): Reading | undefined {
  const than = limits.get(textAt(tokens, at));
  return than !== undefined && tokens[at + 1]?.kind === 'number'
    ? { length: 1, tokens: [word(than), word('than')] }
    : undefined;
}

const limits = tableOf('under less | below less | over more | above more');

/** Ordinals in words that the tokenizer does not convert. Results must keep the number of a century. */
const ordinals = tableOf(
  `eleventh 11th | twelfth 12th | thirteenth 13th | fourteenth 14th | fifteenth 15th | sixteenth 16th |
  seventeenth 17th | eighteenth 18th | nineteenth 19th | twentieth 20th`,
);

/** Rewrites "eighteenth" as "18th". */
function readOrdinal({ tokens, at }: Place): Reading | undefined {
  const digits = ordinals.get(textAt(tokens, at));
  return digits === undefined ? undefined : { length: 1, tokens: [number(digits)] };
}

const fromMoment = (moment: ReadTime | undefined): Reading | undefined =>
  moment && { length: moment.length, tokens: [moment.token] };

/** Returns the text of a word in lower case; "" for other tokens. */
const textAt = (tokens: readonly Token[], at: number): string => {
  const token = tokens[at];
  return token?.kind === 'word' ? token.text.toLowerCase() : '';
};

/** Units of time, the largest first, each with the next smaller unit and how many of these it has. */
const ladder: readonly (readonly [unit: string, smaller: string, count: number])[] = [
  ['y', 'mo', 12],
  ['wk', 'd', 7],
  ['d', 'h', 24],
  ['h', 'min', 60],
  ['min', 's', 60],
  ['s', 'ms', 1_000],
];
const smallerThan = new Map(
  ladder.map(([unit, smaller, count]) => [unit, [smaller, count] as const]),
);
const largerThan = new Map(
  ladder.map(([unit, smaller, count]) => [smaller, [unit, count] as const]),
);
const decimal = tableOf('TB GB | GB MB | MB kB | kB B | km m | kg g | g mg | s ms');

/** Converts an amount to the largest unit in which it is a whole number: "60s" is "1min", "1.5GB" is "1500MB". */
function largest(count: number, unit: string): string {
  const [smaller, times] = decimal.has(unit)
    ? [decimal.get(unit), 1_000]
    : (smallerThan.get(unit) ?? []);
  if (!Number.isInteger(count) && smaller !== undefined && times !== undefined)
    return largest(Math.round(count * times * 1e3) / 1e3, smaller);
  const [larger, of] = largerThan.get(unit) ?? [];
  return larger !== undefined && of !== undefined && count > 0 && count % of === 0
    ? largest(count / of, larger)
    : `${count}${unit}`;
}

/** Converts an amount such as "90min" or "1500MB" to the largest unit in which it is a whole number. */
function readUnit({ tokens, at, before }: Place): Reading | undefined {
  const token = tokens[at];
  const [, digits, unit = ''] =
    (token?.kind === 'number' && /^(\d+(?:\.\d+)?)([A-Za-z]+)$/.exec(token.text)) || [];
  if (!digits || (!smallerThan.has(unit) && !largerThan.has(unit) && !decimal.has(unit)))
    return undefined;
  const text = largest(Number(digits), unit);
  const single = singles.get(text);
  // "every 24 hours" is "every day".
  const isEvery = /^(?:every|each|per)$/.test(textAt(before, before.length - 1));
  return { length: 1, tokens: [single && isEvery ? word(single) : number(text)] };
}

const singles = tableOf('1min minute | 1h hour | 1d day | 1wk week | 1mo month | 1y year');

const isOne = (text: string): boolean => text === 'a' || text === 'an' || text === 'one';

/** Converts halves and quarters of units: "half an hour", "an hour and a half", "one and a half hours". */
function readHalves({ tokens, at }: Place): Reading | undefined {
  const texts = (count: number) =>
    Array.from({ length: count }, (_, index) => textAt(tokens, at + index));
  const part = (count: number, [unit, smaller, of]: readonly [string, string, number]) =>
    number(largest(count * of, smaller) || unit);
  const step = (text: string) => ladder.find(([unit]) => unit === units.get(text));
  const [first = '', second = '', third = '', fourth = '', fifth = ''] = texts(5);
  const half = first === 'half' && isOne(second) ? step(third) : undefined;
  if (half) return { length: 3, tokens: [part(0.5, half)] };
  const isHalf = (words: readonly string[]) => words.join(' ') === 'and a half';
  const [, digits = isOne(first) ? '1' : '', unit = ''] =
    (tokens[at]?.kind === 'number' && /^(\d+)([a-z]*)$/.exec(tokens[at]?.text ?? '')) || [];
  const isBehind = digits !== '' && unit === '' && isHalf([second, third, fourth]);
  const behind = isBehind ? step(fifth) : undefined;
  if (behind) return { length: 5, tokens: [part(Number(digits) + 0.5, behind)] };
  const whole = unit ? ladder.find(([name]) => name === unit) : step(second);
  const rest = unit ? [second, third, fourth] : [third, fourth, fifth];
  return digits && whole && isHalf(rest)
    ? { length: unit ? 4 : 5, tokens: [part(Number(digits) + 0.5, whole)] }
    : undefined;
}

const shares: ReadonlyMap<string, number> = new Map([
  ['half', 50],
  ['quarter', 25],
  ['quarters', 25],
  ['fifth', 20],
  ['tenth', 10],
]);

/** Converts "half of the size", "half its size" and "three quarters of it" to percent. Drops "of" after "50 %". */
function readShare({ tokens, at }: Place): Reading | undefined {
  const token = tokens[at];
  const isOf = (place: number) => textAt(tokens, place) === 'of';
  if (token?.kind === 'number' && token.text.endsWith('pct'))
    return isOf(at + 1) ? { length: 2, tokens: [token] } : undefined;
  const isCounted = token?.kind === 'number' && /^\d$/.test(token.text);
  const begin = isCounted || isOne(textAt(tokens, at)) ? at + 1 : at;
  const name = textAt(tokens, begin);
  const share = shares.get(name);
  const isOwn = name === 'half' && /^(?:its|their|the)$/.test(textAt(tokens, begin + 1));
  const isHour = /^(?:an?|hour)$/.test(textAt(tokens, begin + 2));
  if (share === undefined || (begin === at && name !== 'half') || isHour) return undefined;
  if (!isOwn && !isOf(begin + 1)) return undefined;
  const count = isCounted ? Number(token.text) : 1;
  const length = begin - at + (isOwn ? 1 : 2);
  return { length, tokens: [number(`${count * share}pct`)] };
}

const scales: ReadonlyMap<string, number> = new Map([
  ['thousand', 1e3],
  ['million', 1e6],
  ['billion', 1e9],
]);

/** Converts a number with its scale to digits: "2.5 million euros". */
function readScale({ tokens, at }: Place): Reading | undefined {
  const token = tokens[at];
  const scale = scales.get(textAt(tokens, at + 1));
  const [, digits, money = ''] =
    (token?.kind === 'number' && /^(\d+(?:\.\d+)?)(usd|eur|gbp)?$/.exec(token.text)) || [];
  if (!digits || !scale) return undefined;
  const count = Math.round(Number(digits) * scale);
  const unit = money || units.get(tokens[at + 2]?.text ?? '');
  return { length: unit && !money ? 3 : 2, tokens: [number(`${count}${unit ?? ''}`)] };
}

const periods = wordSet('second minute hour day week month quarter year');

/** Rewrites frequencies: "once every week", "every other week", "fortnightly", "on a weekly basis". */
function readRhythm({ tokens, at }: Place): Reading | undefined {
  const [first, second, third, fourth] = [0, 1, 2, 3].map(index => textAt(tokens, at + index));
  const every = (length: number) => ({ length, tokens: [word('every'), number('2wk')] });
  if (first === 'once' && (second === 'every' || second === 'each'))
    return { length: 1, tokens: [] };
  if (first === 'on' && second === 'a' && fourth === 'basis')
    return { length: 4, tokens: [word(third ?? '')] };
  if (first === 'fortnightly' || first === 'biweekly') return every(1);
  if (first === 'fortnight') return { length: 1, tokens: [number('2wk')] };
  if (isOne(first ?? '') && second === 'fortnight') return { length: 2, tokens: [number('2wk')] };
  const isOther = first === 'every' && (second === 'other' || second === 'second');
  const unit = isOther && periods.has(third ?? '') ? units.get(third ?? '') : undefined;
  return unit ? { length: 3, tokens: [word('every'), number(`2${unit}`)] } : undefined;
}

/** Rewrites "a week" as "every week" after an amount: "two times a week", "6 hours a week". */
function readRate({ tokens, at, before }: Place): Reading | undefined {
  const [first, unit] = [textAt(tokens, at), textAt(tokens, at + 1)];
  if (!/^(?:an?|per)$/.test(first) || !periods.has(unit)) return undefined;
  const [last, earlier] = [before.at(-1), before.at(-2)];
  const isCounted =
    (last?.kind === 'number' && /[a-z]$/i.test(last.text)) ||
    (earlier?.kind === 'number' && last?.kind === 'word' && last.text.endsWith('s'));
  return isCounted ? { length: 2, tokens: [word('every'), word(unit)] } : undefined;
}
