import type { Clock } from '#core';

const maxLines = 50;
const maxCharacters = 8_000;

/** The last lines of a server's stderr since its launch. `redact` is applied to whatever is read from it. */
export function createStderrRing(clock: Pick<Clock, 'monotonic'>, redact = (text: string) => text) {
  let lines: string[] = [];
  let characters = 0;
  let addedMs = 0;
  /** Cached, since every refused call reads it. */
  let shown: string | undefined;
  return {
    add(line: string): void {
      addedMs = clock.monotonic();
      shown = undefined;
      lines.push(line);
      characters += line.length;
      while (lines.length > 1 && (lines.length > maxLines || characters > maxCharacters))
        characters -= lines.shift()?.length ?? 0;
    },
    /** The newest lines, oldest first, joined by line breaks. */
    text: (): string => (shown ??= redact(lines.join('\n'))),
    /** The newest line, if it is at most this old, in milliseconds; otherwise empty. */
    newest: (withinMs: number): string =>
      clock.monotonic() - addedMs <= withinMs ? redact(lines.at(-1)?.trimEnd() ?? '') : '',
    clear(): void {
      lines = [];
      shown = undefined;
      characters = 0;
    },
  };
}

/** Older lines do not explain the end of a server. In milliseconds. */
const recentMs = 5_000;

/** The lines that may explain the end of a server: all since its launch, or the recent ones once it has run. */
export function lastWordsOf(ring: ReturnType<typeof createStderrRing>, hasRun: boolean) {
  const quoted = ring.newest(hasRun ? recentMs : Infinity);
  const when = hasRun ? `in the ${recentMs / 1000} s before` : 'since its launch';
  return { quoted: quoted && `The last it wrote ${when}: ${quoted}`, stderr: ring.text() };
}
