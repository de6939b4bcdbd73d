import type { Token } from './tokens.ts';
import { ordinals, tableOf, wordSet } from './words.ts';

/** A recognized date or time of day: the number of tokens it replaces, and its token in the common spelling. */
export type ReadTime = { readonly length: number; readonly token: Token };

const months = wordSet(
  'January February March April May June July August September October November December',
);
const days: ReadonlyMap<string, number> = new Map(
  [...ordinals].map(([digits, word]) => [word, Number.parseInt(digits, 10)] as const),
);
const lastDay = 31;

/** Returns the text of a token, in lower case unless it is a month. */
const textAt = (tokens: readonly Token[], at: number): string => {
  const text = tokens[at]?.text ?? '';
  return months.has(text) ? text : text.toLowerCase();
};

function dayAt(tokens: readonly Token[], at: number): number | undefined {
  const text = textAt(tokens, at);
  const [, digits] = /^(\d{1,2})(?:st|nd|rd|th)?$/.exec(text) ?? [];
  const day = digits ? Number(digits) : days.get(text);
  return day !== undefined && day >= 1 && day <= lastDay ? day : undefined;
}

/** Recognizes a date: "May 1", "1 May", "the first of May", "May the 1st". */
export function readDate(tokens: readonly Token[], at: number): ReadTime | undefined {
  const skipped = (place: number, word: string) =>
    textAt(tokens, place) === word ? place + 1 : place;
  const begin = skipped(at, 'the');
  const isMonth = months.has(textAt(tokens, at));
  const number = isMonth ? skipped(at + 1, 'the') : begin;
  const end = isMonth ? number : skipped(number + 1, 'of');
  const month = isMonth ? textAt(tokens, at) : textAt(tokens, end);
  const day = dayAt(tokens, number);
  if (day === undefined || !months.has(month)) return undefined;
  return { length: end + 1 - at, token: { kind: 'number', text: `${day} ${month}` } };
}

const named = tableOf('noon 12:00 | midnight 0:00');
const parts: ReadonlyMap<string, number> = new Map([
  ['quarter', 15],
  ['half', 30],
]);
const clock = (minutes: number): string =>
  `${Math.floor(minutes / 60) % 24}:${String(minutes % 60).padStart(2, '0')}`;

/** Returns the minutes since midnight of "6pm" or "18:00". Reads a bare number only if `isHour`. */
function minutesOf(text: string, isHour: boolean): number | undefined {
  const [, hour = '', minute = '', half = ''] = /^(\d{1,2})(?::(\d\d))?(am|pm)?$/.exec(text) ?? [];
  if (!hour || (!minute && !half && !isHour) || Number(hour) > 24) return undefined;
  const hours = half ? (Number(hour) % 12) + (half === 'pm' ? 12 : 0) : Number(hour);
  return hours * 60 + Number(minute);
}

/** Recognizes a time of day: "6 pm" becomes "18:00", "half past nine" becomes "9:30". */
export function readMoment(tokens: readonly Token[], at: number): ReadTime | undefined {
  const text = textAt(tokens, at);
  const begin = text === 'a' ? at + 1 : at;
  const part = parts.get(textAt(tokens, begin));
  const side = textAt(tokens, begin + 1);
  const isPart = part !== undefined && (side === 'past' || (side === 'to' && part === 15));
  const hour = isPart ? minutesOf(textAt(tokens, begin + 2), true) : undefined;
  const time = (length: number, written: string) =>
    ({ length, token: { kind: 'number', text: written } }) as const;
  if (hour !== undefined && part !== undefined)
    return time(begin + 3 - at, clock(side === 'past' ? hour + part : hour - part + 1_440));
  const known = tokens[at]?.kind === 'word' ? named.get(text) : undefined;
  if (known) return time(1, known);
  if (tokens[at]?.kind !== 'number') return undefined;
  const isHour = textAt(tokens, at + 1) === "o'clock";
  const minutes = minutesOf(text, isHour);
  return minutes === undefined ? undefined : time(isHour ? 2 : 1, clock(minutes));
}
