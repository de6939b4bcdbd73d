import type { Log } from '#core';
import { tidyUp } from './launch.ts';

/** A name in use, with what was made under it. Disposing removes that, the last first, and lets go of the name. */
export type Held = AsyncDisposable & {
  /** Adds what is to be removed; where that fails it is owed. */
  add(what: string, remove: () => Promise<void>): void;
  /** What is disposed from here on in place of this one. */
  move(): AsyncDisposable;
};

/** Names of containers that are being started or run, so that they are not taken for leftovers. */
export interface Names {
  has(name: string): boolean;
  hold(name: string): Held;
  /** Lets go of a name, and leaves what was made under it. */
  leave(name: string): void;
}

type Needs = {
  readonly log: Log;
  /** Something could not be removed whose name nobody holds any more. */
  readonly owe: () => void;
};

/** None is held at first. */
export function createNames({ log, owe }: Needs): Names {
  const names = new Set<string>();
  return {
    has: name => names.has(name),
    hold(name) {
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
            if (!(await tidyUp(log, what, remove))) isLeft = true;
          }),
        move: () => made.move(),
        [Symbol.asyncDispose]: () => made.disposeAsync(),
      };
    },
    leave: name => void names.delete(name),
  };
}
