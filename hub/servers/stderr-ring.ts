/** The last lines that a server wrote to stderr, bounded in lines and in bytes. */
export type StderrRing = {
  add(line: string): void;
  /** The newest lines, oldest first, joined by line breaks. */
  text(): string;
  clear(): void;
};

const maxLines = 50;
const maxCharacters = 8_000;

/** Keeps what an operator wants to see first when a server fails. */
export function createStderrRing(): StderrRing {
  let lines: string[] = [];
  let characters = 0;
  return {
    add(line) {
      lines.push(line);
      characters += line.length;
      while (lines.length > 1 && (lines.length > maxLines || characters > maxCharacters))
        characters -= lines.shift()?.length ?? 0;
    },
    text: () => lines.join('\n'),
    clear() {
      lines = [];
      characters = 0;
    },
  };
}
