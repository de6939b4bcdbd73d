/** A longer line of stderr is cut: it is for people to read. */
const maxLineBytes = 4096;

/** Cuts stderr into lines without their breaks, in bounded memory. Empty lines are left out. */
export function createStderrLines(line: (text: string) => void): {
  push(chunk: Buffer): void;
  /** The stream is over: what is left of a line is a line. */
  end(): void;
} {
  let parts: Buffer[] = [];
  let bytes = 0;

  function keep(part: Buffer): void {
    const room = maxLineBytes - bytes;
    if (room <= 0 || part.length === 0) return;
    parts.push(part.subarray(0, room));
    bytes += Math.min(part.length, room);
  }

  function finish(): void {
    const text = Buffer.concat(parts, bytes).toString('utf8').trimEnd();
    parts = [];
    bytes = 0;
    if (text !== '') line(text);
  }

  return {
    push(chunk) {
      let from = 0;
      for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, from)) {
        keep(chunk.subarray(from, end));
        finish();
        from = end + 1;
      }
      keep(chunk.subarray(from));
    },
    end: finish,
  };
}
