import type { LaunchEvents } from '#runtimes';
import type { InstallProgress, InstallStep } from './request.ts';

/** Maximum number and length of the output lines that an error shows. The last lines are shown. */
const shownLines = 30;
const shownCharacters = 500;

/** Reports the steps of an install or upgrade, and collects output for its error. */
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
    /** Starts a step. Throws the reason of the signal if it is aborted. */
    begin: (next: InstallStep, text: string): void => {
      signal.throwIfAborted();
      step = next;
      say(text);
    },
    events: { stderr: keep, progress: keep } satisfies LaunchEvents,
  };
}
