import type { Clock, Log } from '#core';

/** Access to clock, log and the like, which most parts of the hub need. */
export type System = {
  readonly clock: Clock;
  readonly log: Log;
  readonly newId: () => string;
  readonly random: () => number;
};
