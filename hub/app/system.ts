import type { Clock, Log } from '#core';

/** What most parts of the hub need of their surroundings. */
export type System = {
  readonly clock: Clock;
  readonly log: Log;
  readonly newId: () => string;
  readonly random: () => number;
};
