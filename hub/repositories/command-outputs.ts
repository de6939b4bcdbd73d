import { stripVTControlCharacters } from 'node:util';
import type { Clock } from '#core';
import type { CommandResult } from './repository-types.ts';

const maxOutputLength = 16 * 1_024;
const maxAllLength = 32 * 2 ** 20;
/** The container says so if a command is not there. */
const notFound = 127;

type Needs = {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly redact: (text: string) => string;
};

export type CommandOutputs = ReturnType<typeof createCommandOutputs>;

/** Sorts the lines of an acceptance container by the commands that wrote them. Lines that begin with `word` are its own. */
export function createCommandOutputs(
  word: string,
  commands: readonly string[],
  { clock, redact }: Needs,
) {
  const begun = new Map<
    number,
    { text: string; readonly sinceMs: number; endMs?: number; code?: number }
  >();
  const flooded = Promise.withResolvers<void>();
  let before = '';
  let current = 0;
  let length = 0;
  let isDone = false;

  function mark(rest: string): void {
    const [, what, at, code] = /^(begin|end|done)(?: (\d+))?(?: (\d+))?$/.exec(rest) ?? [];
    const number = Number(at);
    if (what === 'done') isDone = true;
    if (what === 'begin') {
      current = number;
      begun.set(number, { text: '', sinceMs: clock.monotonic() });
    }
    const command = begun.get(number);
    if (what !== 'end' || !command) return;
    command.code = Number(code);
    command.endMs = clock.monotonic();
  }

  return {
    /** A line of stderr. */
    push(line: string): void {
      if (line.startsWith(`${word} `)) return mark(line.slice(word.length + 1));
      length += line.length + 1;
      if (length > maxAllLength) flooded.resolve();
      const command = begun.get(current);
      if (command) command.text = `${command.text}${line}\n`.slice(-2 * maxOutputLength);
      else before = `${before}${line}\n`.slice(-2_000);
    },
    /** Resolves when the commands have written more than anybody reads. */
    flooded: flooded.promise,
    get isDone() {
      return isDone;
    },
    get hasBegun() {
      return begun.size > 0;
    },
    /** What was written before the first command began. */
    get beforeFirst() {
      return redact(before.trim());
    },
    /** The results, after the end. `why`: the reason of an end before the last command. */
    results(why: string | undefined, isLate: boolean): readonly CommandResult[] {
      const now = clock.monotonic();
      return commands.map((command, at): CommandResult => {
        const found = begun.get(at + 1);
        if (!found)
          return { command, exitCode: undefined, output: '', durationMs: 0, timedOut: false };
        const isOpen = found.code === undefined;
        const notes = [
          ...(isOpen && length > maxAllLength ? ['stopped: it writes too much'] : []),
          ...(isOpen && why !== undefined ? [`it did not end: ${why}`] : []),
          ...(found.code === notFound
            ? ['a command is not in the image: name one that has it in acceptance.image']
            : []),
        ];
        const text = stripVTControlCharacters(redact(found.text)).trim().slice(-maxOutputLength);
        return {
          command,
          exitCode: found.code,
          output: [text, ...notes.map(note => `(${note})`)].filter(part => part !== '').join('\n'),
          durationMs: Math.round((found.endMs ?? now) - found.sinceMs),
          timedOut: isOpen && isLate,
        };
      });
    },
  };
}
