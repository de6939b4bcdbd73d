/** A line of a difference as people know it: what goes, what comes, and what is around it. */
export type DifferenceLine = { readonly sign: '-' | '+' | ' ' | '@'; readonly text: string };

/** Lines around what changes. */
const around = 3;
/** A longer line is shown where it changes only, in characters. */
const longLine = 200;
const aroundInLine = 40;
/** What is shown of values that are none of the hub's: any of them may be a key. */
const hidden = '…';

/**
 * What a change does to a text, as one hunk. Of the values in it only those are shown that are in `shown`: the
 * files of clients hold keys of other servers.
 */
export function differenceOf(
  before: string,
  after: string,
  shown: readonly string[],
): readonly DifferenceLine[] {
  if (before === after) return [];
  const hide = (lines: readonly string[]) => lines.map(line => withoutValues(line, shown));
  const [old, now] = [linesOf(before), linesOf(after)];
  const start = commonStart(old, now);
  const end = commonEnd(old, now, start);
  const first = Math.max(0, start - around);
  const removed = old.slice(start, old.length - end);
  const added = now.slice(start, now.length - end);
  const last = old.slice(old.length - end, old.length - end + around);
  const above = old.slice(first, start);
  const sizes = `-${first + 1},${above.length + removed.length + last.length} +${first + 1},${above.length + added.length + last.length}`;
  const [short, long] = shortened(hide(removed), hide(added));
  return [
    { sign: '@', text: `@@ ${sizes} @@` },
    ...signed(' ', hide(above).map(cropped)),
    ...signed('-', short),
    ...signed('+', long),
    ...signed(' ', hide(last).map(cropped)),
  ];
}

const signed = (sign: DifferenceLine['sign'], texts: readonly string[]) =>
  texts.map(text => ({ sign, text }));

function linesOf(text: string): string[] {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

/** How many lines, or characters, are the same at the beginning. */
function commonStart(one: ArrayLike<string>, other: ArrayLike<string>): number {
  let length = 0;
  while (length < one.length && length < other.length && one[length] === other[length]) length++;
  return length;
}

/** How many are the same at the end, behind those at the beginning. */
function commonEnd(one: ArrayLike<string>, other: ArrayLike<string>, start: number): number {
  let length = 0;
  while (
    length < Math.min(one.length, other.length) - start &&
    one[one.length - 1 - length] === other[other.length - 1 - length]
  )
    length++;
  return length;
}

/** A string, and whether it is the name of a value; or what stands without quotes and is long enough for a key. */
const value = /"(?:\\.|[^"\\])*"(\s*[:=])?|'[^']*'(\s*=)?|[\w+/=-]{12,}/g;

function withoutValues(line: string, shown: readonly string[]): string {
  return line.replaceAll(value, (whole: string, colon?: string, equals?: string) => {
    const quote = /^["']/.exec(whole)?.[0];
    if (quote === undefined) return /\d/.test(whole) ? hidden : whole;
    const inside = whole.slice(1, -1);
    const isShown = shown.some(text => JSON.stringify(text).slice(1, -1) === inside);
    return isShown || colon !== undefined || equals !== undefined ? whole : quote + hidden + quote;
  });
}

const cropped = (line: string) =>
  line.length <= longLine ? line : `${line.slice(0, 2 * aroundInLine)}${hidden}`;

/** One long line that becomes another is a file without line breaks: only where it changes is of interest. */
function shortened(
  removed: readonly string[],
  added: readonly string[],
): readonly [readonly string[], readonly string[]] {
  const [old = ''] = removed;
  const [now = ''] = added;
  if (removed.length !== 1 || added.length !== 1 || Math.max(old.length, now.length) <= longLine)
    return [removed.map(cropped), added.map(cropped)];
  const start = commonStart(old, now);
  const end = commonEnd(old, now, start);
  const window = (line: string) =>
    hidden +
    line.slice(Math.max(0, start - aroundInLine), line.length - end + aroundInLine) +
    hidden;
  return [[window(old)], [window(now)]];
}
