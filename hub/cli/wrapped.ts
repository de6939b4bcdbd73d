import { textWidth, wrapText } from './screen/text-width.ts';

/** Width assumed for a terminal that is narrower than this, or does not know its width. */
const leastColumns = 20;

/** The width that a terminal leaves to a text beside something else; unlimited for a pipe. */
export const roomOf = (columns: number | undefined, taken: number): number =>
  columns === undefined ? Infinity : Math.max(leastColumns, columns - taken);

/**
 * A sentence and the command that it is about: on one line, or below each other where that does not fit. A command is
 * never wrapped: its first line alone would be another one.
 */
export function withCommand(sentence: string, command: string, columns: number): readonly string[] {
  const line = `${sentence}: ${command}`;
  return textWidth(line) <= columns
    ? [line]
    : [...wrapText(`${sentence}:`, columns), `  ${command}`];
}

/** Rows of a name and a text of several lines, each of which begins beside the name. */
export function besideNames(
  rows: readonly (readonly [name: string, lines: readonly string[]])[],
): readonly string[] {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.flatMap(([name, lines]) =>
    lines.map((line, at) => `  ${(at === 0 ? name : '').padEnd(width)}  ${line}`),
  );
}
