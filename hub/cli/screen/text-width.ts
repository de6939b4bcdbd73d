/** Splits text into characters. Created on first use: reading the ICU tables takes 10 ms and 4 MB. */
let segmenter: Intl.Segmenter | undefined;
const segmentsOf = (text: string) => (segmenter ??= new Intl.Segmenter()).segment(text);

/** Characters that take two columns: emoji, and wide characters of East Asia (Unicode TR11). */
const wide =
  /\p{Emoji_Presentation}|\uFE0F|[\u1100-\u115F\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\u9FFF\uA000-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|[\u{1B000}-\u{1B2FF}\u{20000}-\u{3FFFD}]/u;
/** Characters that take no column of their own. */
const empty = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

const widthOf = (character: string): number => {
  if (empty.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
};

/** Returns the number of columns that a text takes. It must not contain control characters or colours. */
export function textWidth(text: string): number {
  let width = 0;
  for (const { segment } of segmentsOf(text)) width += widthOf(segment);
  return width;
}

/** Cuts a text to at most `columns` columns; a cut text ends in an ellipsis. */
export function fitText(text: string, columns: number): string {
  if (text.length <= columns / 2 || textWidth(text) <= columns) return text;
  let kept = '';
  let width = 0;
  for (const { segment } of segmentsOf(text)) {
    width += widthOf(segment);
    if (width > columns - 1) break;
    kept += segment;
  }
  return columns < 1 ? '' : `${kept.trimEnd()}…`;
}

/** Words between spaces. A quoted command counts as one word, so that it stays on one line. */
const words = /(?:"[^"]*"|\S)+/g;

/** Wraps a text between words at `columns` columns. A longer word gets a line of its own. */
export function wrapText(text: string, columns: number): readonly string[] {
  return text.split('\n').flatMap(line => wrapLine(line, columns));
}

function wrapLine(text: string, columns: number): readonly string[] {
  if (textWidth(text) <= columns) return [text];
  const lines: string[] = [];
  let line = '';
  for (const word of text.match(words) ?? []) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && textWidth(longer) > columns) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line];
}

/** Pads a text with spaces or shortens it to `columns` columns. */
export function padText(text: string, columns: number): string {
  const fitting = fitText(text, columns);
  return fitting + ' '.repeat(Math.max(0, columns - textWidth(fitting)));
}
