/** A text colour or weight. */
export type TextStyle = 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan';

/** Output properties of a stream: terminal or pipe. */
export interface Screen {
  readonly isTerminal: boolean;
  /** Width of a line in characters; undefined for a pipe. */
  readonly columns: number | undefined;
  /** Colours the text if the stream supports it. Honours NO_COLOR and FORCE_COLOR. */
  paint(style: TextStyle, text: string): string;
  /**
   * Text from another source. On a terminal, control characters are removed: a server could otherwise move the cursor
   * and overwrite earlier output.
   */
  foreign(text: string): string;
}

/** Shortens the text to a number of characters. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${text.slice(0, Math.max(0, length - 1)).trimEnd()}…`;
}
