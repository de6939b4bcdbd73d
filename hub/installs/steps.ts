import type { LaunchEvents } from '#runtimes';
import type { InstallProgress, InstallStep } from './request.ts';

/** The last lines of installers and servers that a failure shows, and their length. */
const shownLines = 30;
const shownCharacters = 500;

/** Reports the steps of an install or of a change of a version, and keeps the output for its failure. */
export function createSteps(
  first: InstallStep,
  tell: (progress: InstallProgress) => void,
  signal: AbortSignal,
) {
  const output: string[] = [];
  let step = first;
  const say = (text: string) => tell({ step, text });
  const keep = (line: string) => {
    output.push(line.slice(0, shownCharacters));
    if (output.length > shownLines) output.shift();
    say(line);
  };
  return {
    get step(): InstallStep {
      return step;
    },
    /** The last lines of output. */
    output,
    say,
    /** Begins a step. Throws the reason of the signal once it aborts. */
    begin: (next: InstallStep, text: string): void => {
      signal.throwIfAborted();
      step = next;
      say(text);
    },
    events: { stderr: keep, progress: keep } satisfies LaunchEvents,
  };
}
