import { type Log, messageOf } from '#core';

/** A name in use, and the objects created for it. Disposing removes the objects in reverse order and frees the name. */
type Held = AsyncDisposable & {
  /** Adds an object. If its removal fails, it is retried later. */
  add(what: string, remove: () => Promise<void>): void;
  /** Moves the objects to a new disposable. Disposing this one then does nothing. */
  move(): AsyncDisposable;
};

type Needs = {
  readonly log: Log;
  /** Called if an object under a freed name could not be removed. */
  readonly owe: () => void;
};

export type Names = ReturnType<typeof createNames>;

/** Names of containers that are starting or running, which must not be removed as leftovers. */
export function createNames({ log, owe }: Needs) {
  const names = new Set<string>();
  return {
    has: (name: string) => names.has(name),
    hold(name: string): Held {
      const made = new AsyncDisposableStack();
      let isLeft = false;
      names.add(name);
      made.defer(() => {
        names.delete(name);
        if (isLeft) owe();
      });
      return {
        add: (what, remove) =>
          made.defer(async () => {
            try {
              await remove();
            } catch (error) {
              isLeft = true;
              log.warn({ problem: messageOf(error) }, `could not remove ${what}; retrying later`);
            }
          }),
        move: () => made.move(),
        [Symbol.asyncDispose]: () => made.disposeAsync(),
      };
    },
    /** Frees a name without removing its objects. */
    leave: (name: string) => void names.delete(name),
  };
}
