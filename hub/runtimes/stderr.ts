/** Maximum length of a line in bytes. The rest of a longer line is dropped. */
const maxLineBytes = 4096;

/** Splits stderr into lines of limited length, without empty lines. */
export function createStderrLines(line: (text: string) => void): {
  push(chunk: Buffer): void;
  /** Emits the unfinished last line. */
  end(): void;
} {
  let parts: Buffer[] = [];
  let filled = 0;

  function keep(part: Buffer): void {
    // Copied, as a reference would keep the whole chunk in memory.
    const room = Buffer.from(part.subarray(0, maxLineBytes - filled));
    if (room.length === 0) return;
    parts.push(room);
    filled += room.length;
  }

  function finish(): void {
    // Joined before decoding, as a character may span two chunks.
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
