import type { FastifyReply } from 'fastify';
import { type Clock, HubError } from '#core';
import { type EventAnswer, openEvents } from './events.ts';

/** A source of events for one stream. Sends at most four times a second. */
export type Followed = {
  /** Subscribes to changes, which may come at any rate. */
  readonly listen: (changed: () => void) => Disposable;
  /** Sends the changes since the last call. May dispose the answer to end the stream. */
  readonly tell: (events: EventAnswer) => void;
  /** Subscribes to the end of the source. Absent: it has none, or `tell` ends the stream. */
  readonly until?: (over: () => void) => Disposable;
};

/** Minimum interval between two events of a stream, in ms. */
export const followMs = 250;
/** More streams are refused, because each adds work to every call or line. */
const maxStreams = 100;

/** Opens streams of events, which end when the client or the source does. */
export function createFollowing(
  clock: Clock,
): (reply: FastifyReply, followed: Followed) => FastifyReply {
  let streams = 0;
  return (reply, { listen, tell, until }) => {
    if (streams >= maxStreams)
      throw new HubError(
        'HUB_SUBSCRIPTIONS_FULL',
        `${maxStreams} clients already follow logs, calls or jobs: close some of them`,
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
