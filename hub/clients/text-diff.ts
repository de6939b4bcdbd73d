type DiffLine = { readonly sign: '-' | '+' | ' ' | '@'; readonly text: string };

/** Number of unchanged lines around a change. */
const contextLines = 3;
/** Maximum length in characters of lines that are shown whole. Of longer lines, only the changed part is shown. */
const longLine = 200;
const contextChars = 40;
/** Replacement for values that may be secrets of other servers. */
const hidden = '…';

/**
 * Returns the difference between two texts as one hunk. Shows only the values in `shown`, because clients' files
 * contain keys of other servers.
 */
export function diffTexts(
  before: string,
  after: string,
  shown: readonly string[],
): readonly DiffLine[] {
  if (before === after) return [];
  const hide = (lines: readonly string[]) => lines.map(line => hideValues(line, shown));
  const [old, updated] = [linesOf(before), linesOf(after)];
  const start = commonStart(old, updated);
  const end = commonEnd(old, updated, start);
  const first = Math.max(0, start - contextLines);
  const removed = old.slice(start, old.length - end);
  const added = updated.slice(start, updated.length - end);
  const last = old.slice(old.length - end, old.length - end + contextLines);
  const above = old.slice(first, start);
  const sizes = `-${first + 1},${above.length + removed.length + last.length} +${first + 1},${above.length + added.length + last.length}`;
  const [short, long] = shortenPair(hide(removed), hide(added));
  return [
    { sign: '@', text: `@@ ${sizes} @@` },
    ...withSign(' ', hide(above).map(cropLine)),
    ...withSign('-', short),
    ...withSign('+', long),
    ...withSign(' ', hide(last).map(cropLine)),
  ];
}

const withSign = (sign: DiffLine['sign'], texts: readonly string[]) =>
  texts.map(text => ({ sign, text }));

function linesOf(text: string): string[] {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

/** Returns the number of equal lines or characters at the start. */
function commonStart(one: ArrayLike<string>, other: ArrayLike<string>): number {
  let length = 0;
  while (length < one.length && length < other.length && one[length] === other[length]) length++;
  return length;
}

/** Returns the number of equal lines or characters at the end, not overlapping the equal start. */
function commonEnd(one: ArrayLike<string>, other: ArrayLike<string>, start: number): number {
  let length = 0;
  while (
    length < Math.min(one.length, other.length) - start &&
    one[one.length - 1 - length] === other[other.length - 1 - length]
  )
    length++;
  return length;
}

/**
 * Pattern of values that may be secret: a quoted string, with a colon or equals sign after it if it is a key, or an
 * unquoted word of 12 characters or more.
 */
const value = /"(?:\\.|[^"\\])*"(\s*[:=])?|'[^']*'(\s*=)?|[\w+/=-]{12,}/g;

function hideValues(line: string, shown: readonly string[]): string {
  return line.replaceAll(value, (whole: string, colon?: string, equals?: string) => {
    const quote = /^["']/.exec(whole)?.[0];
    if (quote === undefined) return /\d/.test(whole) ? hidden : whole;
    const inside = whole.slice(1, -1);
    const isShown = shown.some(text => JSON.stringify(text).slice(1, -1) === inside);
    return isShown || colon !== undefined || equals !== undefined ? whole : quote + hidden + quote;
  });
}

const cropLine = (line: string) =>
  line.length <= longLine ? line : `${line.slice(0, 2 * contextChars)}${hidden}`;

/** Shows only the changed part if one long line replaces another, as in a file without line breaks. */
function shortenPair(
  removed: readonly string[],
  added: readonly string[],
): readonly [readonly string[], readonly string[]] {
  const [old = ''] = removed;
  const [updated = ''] = added;
  if (
    removed.length !== 1 ||
    added.length !== 1 ||
    Math.max(old.length, updated.length) <= longLine
  )
    return [removed.map(cropLine), added.map(cropLine)];
  const start = commonStart(old, updated);
  const end = commonEnd(old, updated, start);
  const window = (line: string) =>
    hidden +
    line.slice(Math.max(0, start - contextChars), line.length - end + contextChars) +
    hidden;
  return [[window(old)], [window(updated)]];
}
