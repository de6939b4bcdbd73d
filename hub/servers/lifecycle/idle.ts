import type { ServerConfig } from '#config';
import type { Clock } from '#core';

export type IdleNeeds = {
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
  /** How many calls there have been so far. */
  readonly calls: () => number;
  /** Whether somebody waits for it, or for what it tells, at this moment. */
  readonly isBusy: () => boolean;
  /** It has had nothing to do for `idle_stop`. Disposes the watch. */
  readonly idle: () => void;
};

/** A watch over what a server has to do, until it is disposed. */
export type IdleWatch = Disposable & {
  /** Has another `idle_stop` in force. */
  retime(): void;
};

/** It is looked for as often as this within `idle_stop`, and so ended at most that much too late. */
const looks = 4;

/** Finds out when a server has had nothing to do for as long as its config says, if that says so. */
export function watchIdle(
  config: () => Pick<ServerConfig, 'idleStopMs'>,
  needs: IdleNeeds,
): IdleWatch {
  const { clock } = needs;
  let timer: Disposable | undefined;
  let usedMs = clock.monotonic();
  let calls = needs.calls();

  function look(idleMs: number): void {
    const now = clock.monotonic();
    // Calls are counted and not timed: when the last of them was is known to a look.
    if (needs.calls() !== calls || needs.isBusy()) usedMs = now;
    calls = needs.calls();
    if (now - usedMs >= idleMs) needs.idle();
    else later();
  }

  function later(): void {
    const { idleStopMs } = config();
    if (idleStopMs === undefined) return;
    timer = clock.after(idleStopMs / looks, () => look(idleStopMs));
  }

  later();
  return {
    retime() {
      timer?.[Symbol.dispose]();
      later();
    },
    [Symbol.dispose]: () => timer?.[Symbol.dispose](),
  };
}
