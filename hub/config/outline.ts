/** Where an object and its parts stand in a text. In characters from its start; ends are exclusive. */
export type Outline = {
  /** With braces around it, as in JSON, or as indented lines of YAML. */
  readonly style: 'braces' | 'block';
  readonly start: number;
  readonly end: number;
  readonly entries: readonly OutlineEntry[];
};

export type OutlineEntry = {
  readonly key: string;
  readonly start: number;
  readonly keyEnd: number;
  readonly valueStart: number;
  readonly end: number;
  /** Undefined where the value is no object, or an alias of one. */
  readonly value: Outline | undefined;
};

/** Puts a text in place of another: between two equal offsets it is an insertion. */
export type Splice = { readonly start: number; readonly end: number; readonly text: string };

/** Applies splices, in any order, that do not overlap. Of two at one place the first comes first. */
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

/** Where the line of a place begins. */
export const lineStart = (text: string, at: number): number => text.lastIndexOf('\n', at - 1) + 1;

/** Where the line of a place ends: before its line break. */
export function lineEnd(text: string, at: number): number {
  const found = text.indexOf('\n', at);
  if (found === -1) return text.length;
  return text[found - 1] === '\r' && found - 1 >= at ? found - 1 : found;
}

/** Where the next line begins, or the end of the text. */
export function nextLine(text: string, at: number): number {
  const found = text.indexOf('\n', at);
  return found === -1 ? text.length : found + 1;
}

/** The white space at the beginning of the line of a place. */
export const indentAt = (text: string, at: number): string =>
  /^[ \t]*/.exec(text.slice(lineStart(text, at), at))?.[0] ?? '';

/** True where nothing but white space stands before a place in its line. */
export const isFirstOfLine = (text: string, at: number): boolean =>
  text.slice(lineStart(text, at), at).trim() === '';

/** How the lines of a text end: as the first of them. */
export const lineBreakOf = (text: string): '\r\n' | '\n' =>
  text[text.indexOf('\n') - 1] === '\r' ? '\r\n' : '\n';

/** The white space by which a text indents: that of its first indented line, or two spaces. */
export const indentUnitOf = (text: string): string => /^([ \t]+)["\w]/m.exec(text)?.[1] ?? '  ';
