import { stripVTControlCharacters } from 'node:util';
import type { Clock } from '#core';
import type { CommandResult } from './repository-types.ts';

const maxOutputLength = 16 * 1_024;
const maxAllLength = 32 * 2 ** 20;
/** Exit code of the shell for a command that does not exist. */
const notFound = 127;

type Needs = {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly redact: (text: string) => string;
};

export type CommandOutputs = ReturnType<typeof createCommandOutputs>;

/**
 * Assigns the lines of an acceptance container's output to the commands that wrote them. Lines that begin with `word`
 * are from the script that runs the commands.
 */
export function createCommandOutputs(
  word: string,
  commands: readonly string[],
  { clock, redact }: Needs,
) {
  const begun = new Map<
    number,
    { readonly output: TextEnd; readonly sinceMs: number; endMs?: number; code?: number }
  >();
  const flooded = Promise.withResolvers<void>();
  const before = createTextEnd(2_000);
  let current = 0;
  let length = 0;
  let isDone = false;

  function mark(rest: string): void {
    const [, what, at, code] = /^(begin|end|done)(?: (\d+))?(?: (\d+))?$/.exec(rest) ?? [];
    const number = Number(at);
    if (what === 'done') isDone = true;
    if (what === 'begin') {
      current = number;
      begun.set(number, { output: createTextEnd(2 * maxOutputLength), sinceMs: clock.monotonic() });
    }
    const command = begun.get(number);
    if (what !== 'end' || !command) return;
    command.code = Number(code);
    command.endMs = clock.monotonic();
  }

  return {
    /** Adds a line of stderr. */
    push(line: string): void {
      if (line.startsWith(`${word} `)) return mark(line.slice(word.length + 1));
      length += line.length + 1;
      if (length > maxAllLength) flooded.resolve();
      (begun.get(current)?.output ?? before).push(line);
    },
    /** Resolves when the commands have written more than 32 Mi characters. */
    flooded: flooded.promise,
    get isDone() {
      return isDone;
    },
    get hasBegun() {
      return begun.size > 0;
    },
    /** Output before the first command began. */
    get beforeFirst() {
      return redact(before.text.trim());
    },
    /**
     * Returns the results after the end. `why`: the reason, if the run ended before the last command. `isLate`: it
     * timed out.
     */
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
        const text = stripVTControlCharacters(redact(found.output.text))
          .trim()
          .slice(-maxOutputLength);
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

type TextEnd = ReturnType<typeof createTextEnd>;

/**
 * Collects the last characters of a text that grows by lines. The text is cut only occasionally, as each cut copies the
 * rest.
 */
function createTextEnd(maxLength: number) {
  let lines: string[] = [];
  let length = 0;

  function cut(): string {
    const text = lines.join('').slice(-maxLength);
    lines = [text];
    length = text.length;
    return text;
  }

  return {
    push(line: string): void {
      lines.push(line, '\n');
      length += line.length + 1;
      if (length > 2 * maxLength) cut();
    },
    get text() {
      return cut();
    },
  };
}
