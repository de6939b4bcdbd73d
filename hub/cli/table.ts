import { type Io, type Screen, type TextStyle, cut } from './terminal.ts';

/** Content of a table cell, optionally with a colour. */
export type Cell = string | { readonly text: string; readonly style: TextStyle };

const gap = 2;
/** Minimum width in characters of a column that is cut to fit a terminal. */
const leastWidth = 12;

/**
 * Formats rows as a table. On a terminal, cuts the widest columns until the last column has room, and lines at the
 * terminal's width; elsewhere nothing is cut. Removes control characters.
 */
export function tableOf(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  screen: Screen,
): readonly string[] {
  const titles = head.map(text => ({ text, style: 'bold' as const }));
  const lines = [titles, ...rows.map(row => row.map(cell => plain(cell, screen)))];
  const widths = fitted(
    head.map((_, column) => Math.max(...lines.map(line => line[column]?.text.length ?? 0))),
    screen.columns ?? Infinity,
  );
  return lines.map(line => {
    let room = screen.columns ?? Infinity;
    const cells = line.map(({ text, style }, column) => {
      const isLast = column === line.length - 1;
      const shown = cut(text, isLast ? room : Math.min(room, widths[column] ?? 0));
      const width = Math.max(shown.length, Math.min(room, (widths[column] ?? 0) + gap));
      room = Math.max(0, room - width);
      const painted = style && shown ? screen.paint(style, shown) : shown;
      return isLast ? painted : painted + ' '.repeat(width - shown.length);
    });
    return cells.join('').trimEnd();
  });
}

/** Prints rows as a table, or `none` if there are no rows. */
export const showTable = (
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  none: string,
  { out, screen }: Pick<Io, 'out' | 'screen'>,
): void => out(rows.length === 0 ? none : tableOf(head, rows, screen).join('\n'));

/** Shrinks the widest columns until the last one has room for at least some of its text. */
function fitted(widths: readonly number[], room: number): readonly number[] {
  const [last = 0, ...others] = widths.toReversed();
  const taken = others.reduce((sum, width) => sum + width + gap, 0);
  const shown = [...others];
  for (let excess = taken + Math.min(last, leastWidth) - room; excess > 0; excess--) {
    const widest = Math.max(...shown);
    if (widest <= leastWidth) break;
    shown[shown.indexOf(widest)] = widest - 1;
  }
  return [last, ...shown].toReversed();
}

function plain(cell: Cell, screen: Screen) {
  const { text, style } = typeof cell === 'string' ? { text: cell, style: undefined } : cell;
  return { text: onOneLine(text, screen), style };
}

/** Puts text from another source on one line, so that its line breaks cannot imitate further lines of output. */
export const onOneLine = (text: string, screen: Pick<Screen, 'foreign'>): string =>
  screen.foreign(text).replaceAll(/\s+/g, ' ').trim();

const units = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const;

/** Formats a duration in its two largest units: `3d 4h`, `42s`. */
export function durationOf(milliseconds: number): string {
  let seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const parts: string[] = [];
  for (const [unit, length] of units) {
    const count = Math.floor(seconds / length);
    if (count > 0 || (unit === 's' && parts.length === 0)) parts.push(`${count}${unit}`);
    seconds -= count * length;
  }
  return parts.slice(0, 2).join(' ');
}

/** Formats a time in ISO 8601 as `2026-01-31 12:00:00Z`. */
export const timeText = (time: unknown): string =>
  String(time).replace('T', ' ').replace(/\..*/, 'Z');

/** Formats rows as aligned columns, two spaces apart. */
export function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [at, { length }] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, length);
  return rows.map(row =>
    `  ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ')}`.trimEnd(),
  );
}
