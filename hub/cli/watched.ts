import { isObject } from '#core';
import type { Io } from './command.ts';
import type { HubClient } from './hub-client.ts';

/** How often the hub is asked how far a start is, in milliseconds. */
const askEveryMs = 500;

/**
 * The work, of which a terminal is shown how far the server at the path is: its first start may build its image
 * for minutes.
 */
export async function watched<Result>(
  work: Promise<Result>,
  hub: HubClient,
  path: string,
  { errorScreen, progress }: Io,
): Promise<Result> {
  if (!errorScreen.isTerminal) return await work;
  let isOver = false;
  const show = (server: unknown) => {
    if (!isOver && isObject(server) && typeof server['progress'] === 'string')
      progress(`${String(server['name'])}: ${server['progress']}`);
  };
  const timer = setInterval(() => {
    void hub.ask({ method: 'GET', path }).then(show, () => {});
  }, askEveryMs);
  try {
    return await work;
  } finally {
    isOver = true;
    clearInterval(timer);
  }
}
