import { unlessAborted } from '#core';

/** Work that is done once at a time for a key, whoever asks for it meanwhile. */
export interface Joined<T> {
  /** How many different works are under way. */
  readonly size: number;
  has(key: string): boolean;
  /**
   * Starts the work, or joins it where it is under way. It is given up when the last who waits for it
   * has gone; who goes is told the reason of his signal.
   */
  join(key: string, work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T>;
}

/** Nothing is under way. Who uses it bounds the keys. */
export function createJoined<T>(): Joined<T> {
  const underWay = new Map<string, Work<T>>();

  function begin(key: string, work: (signal: AbortSignal) => Promise<T>): Work<T> {
    const controller = new AbortController();
    const leave = () => {
      if (underWay.get(key) === own) underWay.delete(key);
    };
    const result = work(controller.signal).finally(leave);
    // Those who have gone hear no more of it.
    result.catch(() => {});
    const giveUp = () => {
      leave();
      controller.abort();
    };
    const own: Work<T> = { result, waiting: 0, giveUp };
    underWay.set(key, own);
    return own;
  }

  return {
    get size() {
      return underWay.size;
    },
    has: key => underWay.has(key),
    async join(key, work, signal) {
      signal.throwIfAborted();
      const joined = underWay.get(key) ?? begin(key, work);
      joined.waiting++;
      try {
        return await unlessAborted(joined.result, signal);
      } finally {
        joined.waiting--;
        if (joined.waiting === 0) joined.giveUp();
      }
    },
  };
}

type Work<T> = { readonly result: Promise<T>; waiting: number; readonly giveUp: () => void };
