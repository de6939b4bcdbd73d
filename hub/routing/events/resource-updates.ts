import type { Clock } from '#core';
import { membersOf, splice, stringAt } from '#jsonrpc';
import type { Server } from '#servers';
import type { ServerNotification } from '#upstream';
import type { Subscriptions } from './subscriptions.ts';

/** Number of messages to subscribers in a window, after which further updates of the server wait for its end. */
const maxMessages = 5_000;
const windowMs = 1_000;

type Needs = {
  readonly clock: Pick<Clock, 'after'>;
  readonly subscriptions: Pick<Subscriptions, 'concernedBy'>;
};

/** A window of time in which updates of a server are counted. `waiting`: sends the last update of each resource. */
type Window = { messages: number; readonly waiting: Map<string, () => void> };

/**
 * Creates a function that sends `notifications/resources/updated` to the subscribers. A server may send any number of
 * them, and each goes to all subscribers. So above `maxMessages` in a window, only the last update of each resource is
 * sent, at the end of the window. Clients read the resource again after an update, so they miss nothing.
 */
export function createResourceUpdates({ clock, subscriptions }: Needs) {
  const windows = new WeakMap<Server, Window>();

  function windowOf(server: Server): Window {
    const known = windows.get(server);
    if (known) return known;
    const window: Window = { messages: 0, waiting: new Map() };
    windows.set(server, window);
    clock.after(windowMs, () => {
      windows.delete(server);
      for (const [uri, send] of window.waiting) sendOrWait(server, uri, send);
    });
    return window;
  }

  function sendOrWait(server: Server, uri: string, send: () => void): void {
    const window = windows.get(server);
    if (window && window.messages >= maxMessages) window.waiting.set(uri, send);
    else send();
  }

  return (server: Server, { bytes, params, copied }: ServerNotification): void => {
    const span = membersOf(bytes, params)?.get('uri');
    const uri = stringAt(bytes, span);
    if (!span || uri === undefined) return;
    sendOrWait(server, uri, () => {
      const concerned = subscriptions.concernedBy(server, uri);
      for (const [subscriber, publicUri] of concerned)
        subscriber.send(
          publicUri === uri ? bytes : splice(bytes, [{ span, text: JSON.stringify(publicUri) }]),
        );
      copied?.(concerned.size);
      if (concerned.size > 0) windowOf(server).messages += concerned.size;
    });
  };
}
