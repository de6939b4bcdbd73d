/** A terminal that is written to without blocking. */
export type Terminal = {
  readonly columns: number;
  readonly rows: number;
  /** Resolves when the text was written. Never rejects. */
  write(text: string): Promise<void>;
};

/** A line of a frame: what is written, and its width without colours. */
export type FrameLine = { readonly text: string; readonly width: number };

const escape = '\u001b[';
const clearBelow = `${escape}J`;
/** The terminal shows what stands between at once (synchronized output); others ignore it. */
const [begin, end] = [`${escape}?2026h`, `${escape}?2026l`];

/** Lines that wait for a terminal which does not read. Above it the oldest are dropped and counted. */
const maxWaitingLines = 1_000;

/**
 * Shows a frame at the end of a terminal, and lines above it that stay. While a write is under way, lines wait and only
 * the newest frame is shown after it. Each line of the frame must fit the width.
 */
export function createPainter(terminal: Terminal, frameOf: () => readonly FrameLine[]) {
  let shown: readonly FrameLine[] = [];
  let waiting: string[] = [];
  let dropped = 0;
  let isDirty = false;
  let isOver = false;
  let writing: Promise<void> | undefined;

  /** Rows of the shown frame. A terminal that became narrower has wrapped its lines. */
  function rowsShown(): number {
    const columns = Math.max(1, terminal.columns);
    return shown.reduce((rows, { width }) => rows + Math.max(1, Math.ceil(width / columns)), 0);
  }

  function takeLines(): readonly string[] {
    const lost = dropped > 0 ? [`${dropped} lines were not shown: the terminal did not read`] : [];
    const lines = [...lost, ...waiting];
    waiting = [];
    dropped = 0;
    return lines;
  }

  async function paint(): Promise<void> {
    while (isDirty) {
      isDirty = false;
      const rows = rowsShown();
      const up = rows > 0 ? `${escape}${rows}A` : '';
      const lines = takeLines();
      shown = isOver ? [] : frameOf();
      const body = [...lines, ...shown.map(({ text }) => text)].map(text => `${text}\n`).join('');
      await terminal.write(`${begin}\r${up}${clearBelow}${body}${end}`);
    }
    // Synchronously, not in `finally`, which runs later: a line printed in between would wait for a paint that has ended.
    writing = undefined;
  }

  function repaint(): Promise<void> {
    isDirty = true;
    return (writing ??= paint());
  }

  return {
    /** Shows the frame again. */
    repaint: (): void => void repaint(),
    /** Adds lines above the frame, which stay. */
    print(...lines: readonly string[]): void {
      waiting.push(...lines);
      if (waiting.length > maxWaitingLines)
        dropped += waiting.splice(0, waiting.length - maxWaitingLines).length;
      void repaint();
    },
    /** Removes the frame, and resolves when all lines are written. */
    async close(): Promise<void> {
      isOver = true;
      await repaint();
    },
  };
}
