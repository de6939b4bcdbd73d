import type { Clock } from '#core';
import type { LastWords } from '../failures.ts';

/** The last lines that a server wrote to stderr since it was launched, bounded in lines and in bytes. */
export type StderrRing = {
  add(line: string): void;
  /** The newest lines, oldest first, joined by line breaks. */
  text(): string;
  /** The newest line, unless it is older than this, in milliseconds; empty where there is none. */
  newest(withinMs: number): string;
  clear(): void;
};

const maxLines = 50;
const maxCharacters = 8_000;

/** Keeps what an operator wants to see first when a server fails; shown is what `redact` leaves of it. */
export function createStderrRing(
  clock: Pick<Clock, 'monotonic'>,
  redact = (text: string) => text,
): StderrRing {
  let lines: string[] = [];
  let characters = 0;
  let addedMs = 0;
  /** Each call that is refused asks for it. */
  let shown: string | undefined;
  return {
    add(line) {
      addedMs = clock.monotonic();
      shown = undefined;
      lines.push(line);
      characters += line.length;
      while (lines.length > 1 && (lines.length > maxLines || characters > maxCharacters))
        characters -= lines.shift()?.length ?? 0;
    },
    text: () => (shown ??= redact(lines.join('\n'))),
    newest: withinMs =>
      clock.monotonic() - addedMs <= withinMs ? redact(lines.at(-1)?.trimEnd() ?? '') : '',
    clear() {
      lines = [];
      shown = undefined;
      characters = 0;
    },
  };
}

/** What a server wrote longer ago than this says nothing of its end, in milliseconds. */
const recentMs = 5_000;

/** What may say why a server ended: all since its launch until it has run, and then what it wrote just now. */
export function lastWordsOf(ring: Pick<StderrRing, 'text' | 'newest'>, hasRun: boolean): LastWords {
  const quoted = ring.newest(hasRun ? recentMs : Infinity);
  const when = hasRun ? `in the ${recentMs / 1000} s before` : 'since its launch';
  return { quoted: quoted && `The last it wrote ${when}: ${quoted}`, stderr: ring.text() };
}
