/** Replaces a range of a text; with `start` equal to `end`, inserts at that offset. */
export type Splice = { readonly start: number; readonly end: number; readonly text: string };

/** Applies splices, in any order. They must not overlap. Two insertions at the same offset keep their order. */
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

/** Returns the offset at which the line that contains `at` starts. */
export const lineStart = (text: string, at: number): number => text.lastIndexOf('\n', at - 1) + 1;

/** Returns the offset at which the line that contains `at` ends, before its line break. */
export function lineEnd(text: string, at: number): number {
  const found = text.indexOf('\n', at);
  if (found === -1) return text.length;
  return text[found - 1] === '\r' && found - 1 >= at ? found - 1 : found;
}

/** Returns the offset of the start of the next line, or the end of the text. */
export function nextLine(text: string, at: number): number {
  const found = text.indexOf('\n', at);
  return found === -1 ? text.length : found + 1;
}

/** Returns the white space at the start of the line that contains `at`. */
export const indentAt = (text: string, at: number): string =>
  /^[ \t]*/.exec(text.slice(lineStart(text, at), at))?.[0] ?? '';

/** True if only white space precedes `at` on its line. */
export const isFirstOfLine = (text: string, at: number): boolean =>
  text.slice(lineStart(text, at), at).trim() === '';

/** Returns the line break of a text, which is that of its first line. */
export const lineBreakOf = (text: string): '\r\n' | '\n' =>
  text[text.indexOf('\n') - 1] === '\r' ? '\r\n' : '\n';

/** Returns the indentation step of a text, which is that of its first indented line, or two spaces. */
export const indentUnitOf = (text: string): string => /^([ \t]+)["\w]/m.exec(text)?.[1] ?? '  ';
