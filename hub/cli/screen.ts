/** A colour or a weight. */
export type Look = 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan';

/** What a stream of the process is seen on. */
export interface Screen {
  readonly isTerminal: boolean;
  /** Characters that fit in a line; undefined where lines have no end, as in a pipe. */
  readonly columns: number | undefined;
  /** The text in a colour or weight, where colours are seen: NO_COLOR and FORCE_COLOR are honoured. */
  paint(look: Look, text: string): string;
  /**
   * Text that somebody else wrote. On a terminal without the characters that would steer it: a server could
   * else move the cursor, and change what was said before.
   */
  foreign(text: string): string;
}

/** The text, or its beginning where it is longer than that many characters. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${text.slice(0, Math.max(0, length - 1)).trimEnd()}…`;
}
