import type { Clock } from '#core';
import { encodeCall } from '#jsonrpc';
import { serversUri } from './offering.ts';
import type { Subscriber } from './subscriptions.ts';

/** Who wants to know when `hub://servers`, the hub's own resource, reads otherwise than before. */
export interface OwnResource {
  subscribe(subscriber: Subscriber): void;
  unsubscribe(subscriber: Subscriber): void;
  /** What it tells has changed: who wants to know hears of it, once for many changes. */
  changed(): void;
}

/** A server that starts goes through several states. In milliseconds. */
const changeDelayMs = 500;

export function createOwnResource(needs: { readonly clock: Pick<Clock, 'after'> }): OwnResource {
  const subscribers = new Set<Subscriber>();
  let isDue = false;

  function tell(): void {
    isDue = false;
    const update = encodeCall(undefined, 'notifications/resources/updated', { uri: serversUri });
    for (const subscriber of subscribers) subscriber.outlet(update);
  }

  return {
    subscribe: subscriber => void subscribers.add(subscriber),
    unsubscribe: subscriber => void subscribers.delete(subscriber),
    changed() {
      if (isDue || subscribers.size === 0) return;
      isDue = true;
      needs.clock.after(changeDelayMs, tell);
    },
  };
}
