/** Subscribes a listener, which is called for each event until the returned subscription is disposed. */
export type Event<T> = (listener: (event: T) => void) => Disposable;

/** Creates an event and the function that fires it. If a listener throws, the others are still called. */
export function createEmitter<T>(onError: (error: unknown) => void = reportLater): {
  readonly event: Event<T>;
  readonly fire: (event: T) => void;
} {
  const subscriptions = new Set<{ readonly listener: (event: T) => void }>();
  return {
    event(listener) {
      const subscription = { listener };
      subscriptions.add(subscription);
      return { [Symbol.dispose]: () => void subscriptions.delete(subscription) };
    },
    fire(event) {
      if (subscriptions.size === 0) return;
      for (const subscription of Array.from(subscriptions)) {
        // A listener called earlier may have disposed this subscription.
        if (!subscriptions.has(subscription)) continue;
        try {
          subscription.listener(event);
        } catch (error) {
          onError(error);
        }
      }
    },
  };
}

/** Throws an error of a listener, which is a bug, as an uncaught exception after all listeners were called. */
function reportLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
