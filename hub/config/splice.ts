/** Replaces a range of a text. If `start` equals `end`, it is an insertion. */
export type Splice = { readonly start: number; readonly end: number; readonly text: string };

/** Applies splices that do not overlap, in any order. Two insertions at the same offset keep their order. */
export function splice(text: string, splices: readonly Splice[]): string {
  let done = 0;
  const parts = splices
    .toSorted((a, b) => a.start - b.start)
    .map(({ start, end, text: put }) => {
      const part = text.slice(done, start) + put;
      done = end;
      return part;
    });
  return parts.join('') + text.slice(done);
}

/** Offset of the start of the line that contains `at`. */
export const lineStart = (text: string, at: number): number => text.lastIndexOf('\n', at - 1) + 1;

/** Offset of the end of the line that contains `at`, before its line break. */
export function lineEnd(text: string, at: number): number {
  const found = text.indexOf('\n', at);
  if (found === -1) return text.length;
  return text[found - 1] === '\r' && found - 1 >= at ? found - 1 : found;
}

/** Offset of the start of the next line, or the end of the text. */
export function nextLine(text: string, at: number): number {
  const found = text.indexOf('\n', at);
  return found === -1 ? text.length : found + 1;
}

/** White space at the start of the line that contains `at`. */
export const indentAt = (text: string, at: number): string =>
  /^[ \t]*/.exec(text.slice(lineStart(text, at), at))?.[0] ?? '';

/** True if only white space precedes `at` on its line. */
export const isFirstOfLine = (text: string, at: number): boolean =>
  text.slice(lineStart(text, at), at).trim() === '';

/** Line break of a text: that of its first line. */
export const lineBreakOf = (text: string): '\r\n' | '\n' =>
  text[text.indexOf('\n') - 1] === '\r' ? '\r\n' : '\n';

/** Indentation step of a text: that of its first indented line, or two spaces. */
export const indentUnitOf = (text: string): string => /^([ \t]+)["\w]/m.exec(text)?.[1] ?? '  ';
