import type { Clock } from '#core';
import type { LogBounds, LogLine, LogRun, NewLine } from './log-types.ts';
import type { RunFiles } from './run-files.ts';

/** The log of one source: a server or the hub. Adding a line never blocks and never fails. */
export type SourceLog = ReturnType<typeof createSourceLog>;

type SourceLogNeeds = {
  readonly clock: Pick<Clock, 'now'>;
  /** Redacts the lines of one write together, as a secret may span several lines. */
  readonly redact: (text: string) => string;
  readonly bounds: LogBounds;
  /** Called with each line when it is added, unredacted. */
  readonly added: (line: LogLine) => void;
  /** Requests that `write` is called soon. */
  readonly pending: () => void;
  readonly failed: (error: unknown) => void;
  readonly written: () => void;
};

/** Creates the log of a source. `last`: number of its newest stored run, or 0. */
export function createSourceLog(files: RunFiles, last: number, needs: SourceLogNeeds) {
  const { clock, bounds } = needs;
  let run = last;
  let hasBegun = false;
  let hasEnded = false;
  let waiting: LogLine[] = [];
  let characters = 0;
  let dropped = 0;
  let writing: Promise<void> = Promise.resolve();

  function push(line: LogLine): void {
    waiting.push(line);
    characters += sizeOf(line);
    while (waiting.length > 1 && characters > bounds.maxWaiting) {
      const first = waiting.findIndex(one => !one.event);
      if (first < 0) break;
      for (const one of waiting.splice(first, 1)) characters -= sizeOf(one);
      dropped++;
    }
    needs.pending();
    needs.added(line);
  }

  function begin(): void {
    run++;
    hasBegun = true;
    hasEnded = false;
    push({ at: clock.now(), run, text: '', event: 'began' });
  }

  function take(): readonly LogLine[] {
    const [first] = waiting;
    const lost: readonly LogLine[] =
      dropped > 0 && first
        ? [{ at: first.at, run: first.run, isHubs: true, text: lostText(dropped) }]
        : [];
    const lines = redacted([...lost, ...waiting], needs.redact);
    waiting = [];
    characters = 0;
    dropped = 0;
    return lines;
  }

  async function writeNow(): Promise<void> {
    const lines = take();
    try {
      for (const group of byRun(lines)) await files.append(group[0].run, group);
      if (lines.length > 0) needs.written();
    } catch (error) {
      needs.failed(error);
    }
  }

  /** Writes the waiting lines. Resolves when they are written, or the write has failed. */
  function write(): Promise<void> {
    writing = writing.then(writeNow);
    return writing;
  }

  return {
    /** Begins a run. */
    begin,
    /** Continues the newest run, if its program, or the hub's connection to it, has outlived a restart of the hub. */
    resume(): void {
      if (run === 0) begin();
      hasBegun = true;
      hasEnded = false;
    },
    add({ text, ...line }: Omit<NewLine, 'at'>): void {
      if (!hasBegun) begin();
      for (const part of text.split('\n')) push({ at: clock.now(), run, ...line, text: part });
    },
    /** Ends the run. `how`: the reason, as a sentence without its full stop, or empty. */
    end(how: string): void {
      if (!hasBegun || hasEnded) return;
      hasEnded = true;
      push({ at: clock.now(), run, text: how, event: 'ended' });
    },
    write,
    /** Number of the newest run; 0 if there is none. */
    get run() {
      return run;
    },
    /**
     * Reads the lines of a run, the oldest first. `back` counts from the newest run, which is 0. Lines that are added
     * after the call of `cut` are not included.
     */
    async read(back: number, cut: () => void = () => {}): Promise<readonly LogLine[]> {
      const found = writing.then(async () => {
        cut();
        // Another run may start while lines are written.
        const newest = run;
        await writeNow();
        const before = async () => (await files.runs()).filter(one => one < newest).at(-back);
        const wanted = back === 0 ? newest : await before();
        // Redacted again, as a secret may span lines of two writes.
        return wanted === undefined ? [] : redacted(await files.read(wanted), needs.redact);
      });
      writing = found.then(
        () => undefined,
        () => undefined, // The caller of `read` gets the error.
      );
      return await found;
    },
    /** Returns the stored runs, the newest first. */
    async runs(): Promise<readonly LogRun[]> {
      await write();
      const numbers = await files.runs();
      const found = await Promise.all(numbers.toReversed().map(one => files.read(one)));
      return found.flatMap(runOf);
    },
    async remove(): Promise<void> {
      waiting = [];
      await write();
      await files.remove();
    },
  };
}

/** Number of characters that each line counts in addition to its text, so that a flood of short lines is bounded. */
const lineOverhead = 16;

const sizeOf = ({ text }: LogLine) => text.length + lineOverhead;

const lostText = (lines: number) => `${lines} lines came too fast to be kept`;

function runOf(lines: readonly LogLine[]): readonly LogRun[] {
  const [first] = lines;
  if (!first) return [];
  const end = lines.findLast(({ event }) => event === 'ended');
  return [{ run: first.run, beganAt: first.at, endedAt: end?.at, how: end?.text }];
}

/** Groups consecutive lines of the same run. */
function byRun(lines: readonly LogLine[]): readonly [LogLine, ...LogLine[]][] {
  const groups: [LogLine, ...LogLine[]][] = [];
  for (const line of lines) {
    const group = groups.at(-1);
    if (group?.[0].run === line.run) group.push(line);
    else groups.push([line]);
  }
  return groups;
}

/** Redacts lines together. A secret that spans several lines is replaced by a mark in the first of them. */
function redacted(lines: readonly LogLine[], redact: (text: string) => string): readonly LogLine[] {
  const texts = lines.map(({ text }) => text);
  const joined = texts.join('\n');
  const shown = redact(joined);
  if (shown === joined) return lines;
  const parts = shown.split('\n');
  if (parts.length === lines.length)
    return lines.map((line, index) => ({ ...line, text: parts[index] ?? '' }));
  return redactedApart(lines, parts, redact);
}

/** Keeps the lines before and after a removed secret, and replaces those in between. */
function redactedApart(
  lines: readonly LogLine[],
  parts: readonly string[],
  redact: (text: string) => string,
): readonly LogLine[] {
  const before = lines.findIndex(({ text }, index) => text !== parts[index]);
  const begin = before < 0 ? parts.length : before;
  let same = 0;
  const most = Math.min(parts.length, lines.length) - begin;
  while (same < most && lines.at(-1 - same)?.text === parts.at(-1 - same)) same++;
  const [first] = lines.slice(begin);
  const between = parts.slice(begin, parts.length - same);
  const events = lines.slice(begin, lines.length - same).filter(({ event }) => event);
  return [
    ...lines.slice(0, begin),
    ...(first ? between.map(text => withText(first, redact(text))) : []),
    ...events,
    ...lines.slice(lines.length - same),
  ];
}

/** Returns a line with another text, and without its event. */
function withText(line: LogLine, text: string): LogLine {
  const { event: _, ...others } = line;
  return { ...others, text };
}
