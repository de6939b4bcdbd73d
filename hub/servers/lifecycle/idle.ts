import type { ServerConfig } from '#config';
import type { Clock } from '#core';

type IdleNeeds = {
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
  readonly calls: () => number;
  /** True if a client waits for the server, or is subscribed to it, now. */
  readonly isBusy: () => boolean;
  /** Called when the server had no work for `idle_stop`. The callee must dispose the watch. */
  readonly idle: () => void;
};

/** Number of checks within `idle_stop`: a server is stopped at most one check interval late. */
const looks = 4;

/** Calls `idle` once a server had no work for its `idle_stop`, if the config sets one. Stops when disposed. */
export function watchIdle(config: () => Pick<ServerConfig, 'idleStopMs'>, needs: IdleNeeds) {
  const { clock } = needs;
  let timer: Disposable | undefined;
  let usedMs = clock.monotonic();
  let calls = needs.calls();

  function look(idleMs: number): void {
    const now = clock.monotonic();
    // Calls are counted, not timed: the time of the last call is known only to the precision of a check.
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
    retime(): void {
      timer?.[Symbol.dispose]();
      later();
    },
    [Symbol.dispose]: () => timer?.[Symbol.dispose](),
  };
}
