import type { Clock } from '#core';
import type { Screen } from '../terminal.ts';
import { type HubScreen, createHubScreen } from './hub-screen.ts';
import { type TerminalStream, createTerminalOutput } from './terminal-output.ts';

export type OpenScreen = (isVerbose: boolean) => HubScreen;

/** Opens the screen of a hub on a terminal. */
export function openHubScreen(
  stream: TerminalStream,
  { version, screen, clock }: { version: string; screen: Screen; clock: Clock },
  isVerbose: boolean,
): HubScreen {
  const elapsedMs = () => clock.monotonic();
  const options = { version, isVerbose, elapsedMs };
  const opened = createHubScreen(options, createTerminalOutput(stream, clock), screen, clock);
  const resized = () => opened.resized();
  stream.on('resize', resized);
  return {
    ...opened,
    async close(last) {
      stream.off('resize', resized);
      await opened.close(last);
    },
  };
}
