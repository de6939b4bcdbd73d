/** Calls the listener for each event until the subscription is disposed. */
export type Event<T> = (listener: (event: T) => void) => Disposable;

/** An event and the function that fires it. A listener that throws does not keep others from hearing. */
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
      for (const subscription of Array.from(subscriptions)) {
        // An earlier listener may have disposed it.
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

/** A listener's error is a bug: it surfaces as an uncaught exception, after the others have heard. */
function reportLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
