import { isObject } from '#core';
import type { Io } from './command.ts';
import type { HubClient } from './hub-client.ts';

/** Interval in ms at which the hub is asked for the progress of a start. */
const pollIntervalMs = 500;

/**
 * Awaits `work` and shows the server's start progress on a terminal, because a first start may build an image for
 * minutes.
 */
export async function withStartProgress<Result>(
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
  }, pollIntervalMs);
  try {
    return await work;
  } finally {
    isOver = true;
    clearInterval(timer);
  }
}
