import { HubError, createFairQueue } from '#core';

export type SlotLimits = {
  /** Maximum number of tasks that run at the same time. */
  readonly maxRunning: number;
  /** Maximum number of tasks that wait to run. */
  readonly queue: number;
};

/** Creates the slots for running tasks. Owners take turns, and the number of waiting tasks is limited. */
export function createSlots(limits: () => SlotLimits) {
  const waiting = createFairQueue<() => void>();
  let running = 0;
  let reserved = 0;

  function release(): void {
    running--;
    while (running < limits().maxRunning) {
      const take = waiting.take();
      if (!take) return;
      take();
    }
  }

  return {
    /**
     * Reserves a slot, running or waiting, until disposed. Dispose it after `take`. Throws HUB_TASKS_FULL if too many
     * tasks wait.
     */
    reserve(): Disposable {
      const { maxRunning, queue } = limits();
      const room = Math.max(0, maxRunning - running) + Math.max(0, queue - waiting.length);
      if (reserved >= room)
        throw new HubError(
          'HUB_TASKS_FULL',
          `${running} tasks are worked on and ${waiting.length + reserved} wait. Try again when one of them is done`,
          { data: { retryable: true } },
        );
      reserved++;
      let isGiven = false;
      return {
        [Symbol.dispose]() {
          if (!isGiven) reserved--;
          isGiven = true;
        },
      };
    },
    /** Waits for a slot. Rejects with the reason of the signal. The caller disposes the slot to release it. */
    async take(owner: string, signal: AbortSignal): Promise<Disposable> {
      signal.throwIfAborted();
      let isReleased = false;
      const slot = {
        [Symbol.dispose]() {
          if (!isReleased) release();
          isReleased = true;
        },
      };
      if (running < limits().maxRunning) {
        running++;
        return slot;
      }
      const { promise, resolve, reject } = Promise.withResolvers<Disposable>();
      const leave = waiting.append(owner, () => {
        running++;
        resolve(slot);
      });
      const giveUp = () => {
        leave();
        reject(signal.reason);
      };
      signal.addEventListener('abort', giveUp);
      try {
        return await promise;
      } finally {
        signal.removeEventListener('abort', giveUp);
      }
    },
  };
}

export type TaskSlots = ReturnType<typeof createSlots>;
