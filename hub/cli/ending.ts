import type { Clock } from '#core';

/**
 * Maximum interval in ms between two signals of one Ctrl-C, which arrives from the terminal and, under npm, also from
 * npm.
 */
const sameSignalMs = 1_000;
const parentCheckMs = 500;

/** Creates a controller that aborts when the user or the system ends this process. A second signal exits at once. */
export function createEnding(program: NodeJS.Process, clock: Clock): AbortController {
  const ending = new AbortController();
  let since = 0;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    program.on(signal, () => {
      if (!ending.signal.aborted) {
        since = clock.monotonic();
        ending.abort();
      } else if (clock.monotonic() - since > sameSignalMs) {
        program.stderr.write(
          'Ended at once. The next start removes the containers that still run.\n',
        );
        program.exit(1);
      }
    });
  // Under npm, a shell between npm and the hub exits on npm's signal without forwarding it. The hub therefore stops
  // when its parent exits.
  if (program.env['npm_lifecycle_event'] !== undefined) {
    const parent = program.ppid;
    const check = clock.after(parentCheckMs, () => {
      if (program.ppid === parent) check.refresh();
      else ending.abort();
    });
  }
  return ending;
}
