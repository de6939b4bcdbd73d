import { type Screen, type TextStyle, cut } from './terminal.ts';

/** Content of a table cell, optionally with a colour. */
export type Cell = string | { readonly text: string; readonly style: TextStyle };

const gap = 2;

/**
 * Formats rows as a table. On a terminal, lines are cut at its width; elsewhere they are complete. Control characters
 * are removed.
 */
export function tableOf(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  screen: Screen,
): readonly string[] {
  const body = rows.map(row => row.map(cell => plain(cell, screen)));
  const widths = head.map((title, column) =>
    Math.max(title.length, ...body.map(row => row[column]?.length ?? 0)),
  );
  const lineOf = (texts: readonly string[], style: (column: number) => TextStyle | undefined) => {
    let room = screen.columns ?? Infinity;
    const cells = texts.map((text, column) => {
      const shown = cut(text, room);
      const pad = ' '.repeat(
        Math.max(0, Math.min(room, (widths[column] ?? 0) + gap) - shown.length),
      );
      room = Math.max(0, room - shown.length - pad.length);
      const painted = style(column);
      const isLast = column === texts.length - 1;
      return `${painted && shown ? screen.paint(painted, shown) : shown}${isLast ? '' : pad}`;
    });
    return cells.join('').trimEnd();
  };
  return [
    lineOf(head, () => 'bold'),
    ...rows.map((row, index) =>
      lineOf(body[index] ?? [], column => {
        const cell = row[column];
        return typeof cell === 'object' ? cell.style : undefined;
      }),
    ),
  ];
}

function plain(cell: Cell, screen: Screen): string {
  const text = typeof cell === 'string' ? cell : cell.text;
  return screen.foreign(text).replaceAll(/\s+/g, ' ').trim();
}

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

/** Formats rows as aligned columns, two spaces apart. */
export function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const width = (column: number) => Math.max(...rows.map(row => row[column]?.length ?? 0));
  return rows.map(row =>
    `  ${row.map((cell, column) => cell.padEnd(width(column))).join('  ')}`.trimEnd(),
  );
}
