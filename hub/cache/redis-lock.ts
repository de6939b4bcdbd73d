import type { Clock } from '#core';
import type { Reach } from './reach.ts';
import { renewScript } from './redis-scripts.ts';

/** The right to fill a key, which others take over once it is not renewed any more. */
export interface Lock {
  /** Whether Redis has granted it, as far as this hub knows. */
  readonly isHeld: boolean;
  /** It was granted, and is renewed until it is let go. Late is not too late. */
  granted(): void;
  /** Ends it; true where it was held, and Redis is to be told. Once. */
  letGo(): boolean;
}

/** A lock that is not granted yet. `tooLate` is called where that happens after it was let go. */
export function createLock(
  key: string,
  token: string,
  lockMs: number,
  needs: { readonly clock: Clock; readonly reach: Reach; tooLate(): void },
): Lock {
  let isHeld = false;
  let isOver = false;
  let beat: Disposable | undefined;

  function renewLater(): void {
    beat = needs.clock.after(lockMs / 4, () => void renew());
  }

  async function renew(): Promise<void> {
    const answer = await needs.reach.tell(renewScript, [key, token, lockMs]).atLast;
    if (isOver) return;
    if (answer?.[0] === 'lost') isHeld = false;
    else renewLater();
  }

  return {
    get isHeld() {
      return isHeld;
    },
    granted() {
      if (isOver) {
        needs.tooLate();
      } else if (!isHeld) {
        isHeld = true;
        renewLater();
      }
    },
    letGo() {
      const wasHeld = isHeld;
      isHeld = false;
      isOver = true;
      beat?.[Symbol.dispose]();
      return wasHeld;
    },
  };
}
