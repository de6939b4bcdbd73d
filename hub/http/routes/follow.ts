import type { FastifyReply } from 'fastify';
import { type Clock, HubError } from '#core';
import { type EventAnswer, openEvents } from './events.ts';

/** Something that happens while somebody looks, and is told a few times a second. */
export type Followed = {
  /** Calls back whenever there is something to tell, as often as it likes. */
  readonly listen: (changed: () => void) => Disposable;
  /** Sends what there is to tell. */
  readonly tell: (events: EventAnswer) => void;
  /** Calls back when there will be no more; absent where that never comes. */
  readonly until?: (over: () => void) => Disposable;
};

/** Between two events of one stream, in milliseconds: people do not read faster. */
export const followMs = 250;
/** More streams are refused: each costs something with each call, or each line. */
const maxStreams = 100;

/** Streams of events that last as long as their clients stay. */
export function createFollowing(
  clock: Clock,
): (reply: FastifyReply, followed: Followed) => FastifyReply {
  let streams = 0;
  return (reply, { listen, tell, until }) => {
    if (streams >= maxStreams)
      throw new HubError(
        'HUB_SUBSCRIPTIONS_FULL',
        `${maxStreams} clients follow logs and calls already: close pages of the dashboard that are not needed`,
      );
    streams++;
    const events = openEvents(reply, clock);
    let due: Disposable | undefined;
    const heard = listen(() => {
      due ??= clock.after(followMs, () => {
        due = undefined;
        tell(events);
      });
    });
    const ending = until?.(() => reply.raw.destroy());
    reply.raw.once('close', () => {
      streams--;
      heard[Symbol.dispose]();
      ending?.[Symbol.dispose]();
      due?.[Symbol.dispose]();
      events[Symbol.dispose]();
    });
    tell(events);
    return reply;
  };
}
