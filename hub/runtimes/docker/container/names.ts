import { type Log, messageOf } from '#core';

type Needs = {
  readonly log: Log;
  /** Called if an object was not removed and its name is free again. */
  readonly owe: () => void;
};

export type Names = ReturnType<typeof createNames>;

/**
 * Tracks names of containers that are starting or running, and of their networks, which must not be removed as
 * leftovers.
 */
export function createNames({ log, owe }: Needs) {
  const names = new Set<string>();
  return {
    has: (name: string) => names.has(name),
    /** Reserves names until the result is disposed, which also removes the objects added to it, in reverse order. */
    hold(...held: readonly string[]) {
      const made = new AsyncDisposableStack();
      let isLeft = false;
      for (const name of held) names.add(name);
      made.defer(() => {
        for (const name of held) names.delete(name);
        if (isLeft) owe();
      });
      return {
        /** Adds an object with the function that removes it. A removal that fails is retried later. */
        add: (what: string, remove: () => Promise<void>) =>
          made.defer(async () => {
            try {
              await remove();
            } catch (error) {
              isLeft = true;
              log.warn({ problem: messageOf(error) }, `could not remove ${what}; retrying later`);
            }
          }),
        /** Moves the objects to a new disposable, and returns it. Disposing this one then does nothing. */
        move: (): AsyncDisposable => made.move(),
        [Symbol.asyncDispose]: () => made.disposeAsync(),
      };
    },
    /** Frees names without removing their objects. */
    leave(...held: readonly string[]): void {
      for (const name of held) names.delete(name);
    },
  };
}
