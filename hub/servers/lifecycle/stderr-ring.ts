import type { Clock } from '#core';
import { errorLineIn } from './error-line.ts';

const maxLines = 50;
const maxCharacters = 8_000;
/** Maximum number of stack frames in a row, so that a long stack does not displace the line above it with the reason. */
const maxFrames = 10;
const frame = /^\s+at /;

/** The last lines of a server's stderr since its launch. `redact` removes secrets from the text. */
export function createStderrRing(clock: Pick<Clock, 'monotonic'>, redact = (text: string) => text) {
  let lines: { readonly text: string; readonly addedMs: number }[] = [];
  let characters = 0;
  /** Number of stack frames since the last other line. */
  let frames = 0;
  /** The redacted text, cached because every refused call reads it. */
  let shown: string | undefined;
  return {
    add(line: string): void {
      frames = frame.test(line) ? frames + 1 : 0;
      if (frames > maxFrames) return;
      shown = undefined;
      lines.push({ text: line, addedMs: clock.monotonic() });
      characters += line.length;
      while (lines.length > 1 && (lines.length > maxLines || characters > maxCharacters))
        characters -= lines.shift()?.text.length ?? 0;
    },
    /** Returns the newest lines, oldest first, joined by line breaks. */
    text: (): string => (shown ??= redact(lines.map(({ text }) => text).join('\n'))),
    /** Returns the lines that are at most `withinMs` old, oldest first. */
    recent(withinMs: number): readonly string[] {
      const sinceMs = clock.monotonic() - withinMs;
      const found = lines.filter(({ addedMs }) => addedMs >= sinceMs);
      return found.length === 0 ? [] : redact(found.map(({ text }) => text).join('\n')).split('\n');
    },
    clear(): void {
      lines = [];
      shown = undefined;
      characters = 0;
      frames = 0;
    },
  };
}

/** Maximum age of lines that can explain the end of a running server, in milliseconds. */
const recentMs = 5_000;
/** Maximum length of a quoted line in characters, so that the remedy after it is seen. */
const maxQuoted = 500;

/** Returns the lines that may explain the end of a server: all since its launch, or the recent ones once it has run. */
export function lastWordsOf(ring: ReturnType<typeof createStderrRing>, hasRun: boolean) {
  const lines = ring.recent(hasRun ? recentMs : Infinity);
  const when = hasRun ? `in the ${recentMs / 1000} s before` : 'since its launch';
  const line = errorLineIn(lines);
  const newest = lines.at(-1)?.trimEnd() ?? '';
  const last = newest && `The last it wrote ${when}: ${quotedLine(newest)}`;
  const quoted = line === undefined ? last : `It wrote ${when}: ${quotedLine(line)}`;
  return { quoted, line, stderr: ring.text() };
}

const quotedLine = (line: string): string =>
  line.length > maxQuoted ? `${line.slice(0, maxQuoted).toWellFormed()}...` : line;
