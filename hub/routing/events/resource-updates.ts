import type { Clock } from '#core';
import { membersOf, splice, stringAt } from '#jsonrpc';
import type { Server } from '#servers';
import type { ServerNotification } from '#upstream';
import type { Subscriptions } from './subscriptions.ts';

/** Number of subscribers from which the updates of a resource are spaced. */
const minSpaced = 10;
/** Minimum interval between two updates of a resource, in ms for each subscriber. */
const msPerSubscriber = 1;

type Needs = {
  readonly clock: Pick<Clock, 'after'>;
  readonly subscriptions: Pick<Subscriptions, 'concernedBy'>;
};

/** An interval after an update. `latest`: sends the last update that came meanwhile. */
type Interval = { latest: (() => void) | undefined };

/**
 * Creates a function that sends `notifications/resources/updated` to the subscribers. A server may send any number of
 * them, and each goes to all subscribers. So those of a resource with many subscribers are spaced: of the updates
 * within an interval, only the last is sent, at its end. Clients read the resource again after an update, so they miss
 * nothing.
 */
export function createResourceUpdates({ clock, subscriptions }: Needs) {
  const byServer = new WeakMap<Server, Map<string, Interval>>();

  function intervalsOf(server: Server): Map<string, Interval> {
    const known = byServer.get(server);
    if (known) return known;
    const intervals = new Map<string, Interval>();
    byServer.set(server, intervals);
    return intervals;
  }

  return (server: Server, { bytes, params, copied }: ServerNotification): void => {
    const span = membersOf(bytes, params)?.get('uri');
    const uri = stringAt(bytes, span);
    if (!span || uri === undefined) return;
    const intervals = intervalsOf(server);

    function send(): void {
      if (!span || uri === undefined) return;
      const concerned = subscriptions.concernedBy(server, uri);
      for (const [subscriber, publicUri] of concerned)
        subscriber.send(
          publicUri === uri ? bytes : splice(bytes, [{ span, text: JSON.stringify(publicUri) }]),
        );
      copied?.(concerned.size);
      if (concerned.size < minSpaced) return;
      const begun: Interval = { latest: undefined };
      intervals.set(uri, begun);
      clock.after(concerned.size * msPerSubscriber, () => {
        intervals.delete(uri);
        begun.latest?.();
      });
    }

    const interval = intervals.get(uri);
    if (interval) interval.latest = send;
    else send();
  };
}
