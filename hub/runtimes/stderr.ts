/** Of a longer line the rest is dropped: stderr is for people to read. */
const maxLineBytes = 4096;

/** Cuts what a server writes to stderr into lines of bounded length; empty lines are left out. */
export function createStderrLines(line: (text: string) => void): {
  push(chunk: Buffer): void;
  /** The stream is over: what is left is a line of its own. */
  end(): void;
} {
  let parts: Buffer[] = [];
  let filled = 0;

  function keep(part: Buffer): void {
    // A copy, so that a line that never ends does not hold the memory of every chunk it came in.
    const room = Buffer.from(part.subarray(0, maxLineBytes - filled));
    if (room.length === 0) return;
    parts.push(room);
    filled += room.length;
  }

  function finish(): void {
    // Bytes are joined before they are decoded, as a character may be cut by a chunk.
    const text = Buffer.concat(parts, filled).toString('utf8').trimEnd();
    parts = [];
    filled = 0;
    if (text.length > 0) line(text);
  }

  return {
    push(chunk) {
      let from = 0;
      for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, from)) {
        keep(chunk.subarray(from, end));
        finish();
        from = end + 1;
      }
      if (from < chunk.length) keep(chunk.subarray(from));
    },
    end: finish,
  };
}
