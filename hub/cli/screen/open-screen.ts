import { type Clock, waitAtMost } from '#core';
import type { Screen } from '../terminal.ts';
import { type HubScreen, createHubScreen } from './hub-screen.ts';
import { type TerminalStream, openTerminalOutput } from './terminal-output.ts';

/** Maximum time in ms to write the last lines, so that a paused terminal cannot keep the hub from exiting. */
const lastLinesMs = 1_000;

export type OpenScreen = (isVerbose: boolean) => HubScreen;

export function openHubScreen(
  stream: TerminalStream,
  { version, screen, clock }: { version: string; screen: Screen; clock: Clock },
  isVerbose: boolean,
): HubScreen {
  const elapsedMs = () => clock.monotonic();
  const options = { version, isVerbose, elapsedMs };
  const output = openTerminalOutput(stream, clock);
  const opened = createHubScreen(options, output, screen, clock);
  const resized = () => opened.resized();
  stream.on('resize', resized);
  return {
    ...opened,
    async close(last) {
      stream.off('resize', resized);
      await waitAtMost(lastLinesMs, opened.close(last), clock);
      output.close();
    },
  };
}
