/** A terminal with writes that do not block. */
export type Terminal = {
  readonly columns: number;
  readonly rows: number;
  /** Writes a text. Resolves when it is written. Never rejects. */
  write(text: string): Promise<void>;
};

/** A line of a frame: its text with colours, and its width in columns without them. */
export type FrameLine = { readonly text: string; readonly width: number };

const escape = '\u001b[';
const clearBelow = `${escape}J`;
/** Begin and end of synchronized output, which a terminal shows at once. Other terminals ignore these codes. */
const [begin, end] = [`${escape}?2026h`, `${escape}?2026l`];

/** Maximum number of lines that wait while a terminal does not read. Beyond it, the oldest are dropped and counted. */
const maxWaitingLines = 1_000;

/**
 * Creates a painter, which shows a frame at the end of a terminal, and permanent lines above it. During a write, lines
 * wait, and only the newest frame is shown afterwards. Each line of the frame must fit the width.
 */
export function createPainter(terminal: Terminal, frameOf: () => readonly FrameLine[]) {
  let shown: readonly FrameLine[] = [];
  let waiting: string[] = [];
  let dropped = 0;
  let isDirty = false;
  let isOver = false;
  let writing: Promise<void> | undefined;

  /** Returns the number of rows that the shown frame takes. A terminal that became narrower has wrapped its lines. */
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
    // Reset here, not in `finally`, which runs later: a line printed in between would wait for a paint that has ended.
    writing = undefined;
  }

  function repaint(): Promise<void> {
    isDirty = true;
    return (writing ??= paint());
  }

  return {
    repaint: (): void => void repaint(),
    /** Adds permanent lines above the frame. */
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
