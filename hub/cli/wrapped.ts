import { textWidth, wrapText } from './screen/text-width.ts';

/** Minimum width in columns, assumed for a terminal that is narrower or does not know its width. */
const leastColumns = 20;

/** Returns the width that remains for a text beside `taken` columns; unlimited for a pipe. */
export const roomOf = (columns: number | undefined, taken: number): number =>
  columns === undefined ? Infinity : Math.max(leastColumns, columns - taken);

/**
 * Formats a sentence and the command that it recommends, on one line if they fit, or else below each other. A command
 * is never wrapped, because its first line alone would be a different command.
 */
export function withCommand(sentence: string, command: string, columns: number): readonly string[] {
  const line = `${sentence}: ${command}`;
  return textWidth(line) <= columns
    ? [line]
    : [...wrapText(`${sentence}:`, columns), `  ${command}`];
}

/** Formats names and their texts as rows. Each line of a text begins beside the name. */
export function besideNames(
  rows: readonly (readonly [name: string, lines: readonly string[]])[],
): readonly string[] {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.flatMap(([name, lines]) =>
    lines.map((line, at) => `  ${(at === 0 ? name : '').padEnd(width)}  ${line}`),
  );
}
