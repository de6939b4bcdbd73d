import type { Clock } from '#core';
import type { Channel } from '#jsonrpc';
import type { LimitedLog } from './limited-log.ts';

/** Limits how fast the messages of a server are read that answer no request. */
export type Pace = {
  /** Counts a message of so many bytes. Above the limit the server's output is read no further for a while. */
  count(bytes: number): void;
  /** The same for output that is no message, which costs less. */
  countNoise(bytes: number): void;
};

export type PaceNeeds = {
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
  readonly output: LimitedLog;
};

/** Each of these in a message counts as one more message, in bytes. */
const bytesPerMessage = 4096;
const noiseBytesPerMessage = 256;
/** At most one line of the log in this time says that a server is held back. */
const logEveryMs = 60_000;

/**
 * A token bucket that fills up in one second. What is above it is not dropped: it waits in the server's own
 * output, behind which its answers wait as well. `perSecond` is asked each time, as the config may change.
 */
export function createPace(
  channel: Pick<Channel, 'pause' | 'resume' | 'closed'>,
  perSecond: () => number,
  { clock, output }: PaceNeeds,
): Pace {
  let left = perSecond();
  let filledMs = clock.monotonic();
  let isPaused = false;
  let loggedMs = -Infinity;
  let isOver = false;
  void channel.closed.then(() => {
    isOver = true;
  });

  function fill(): void {
    const nowMs = clock.monotonic();
    left = Math.min(perSecond(), left + ((nowMs - filledMs) / 1000) * perSecond());
    filledMs = nowMs;
  }

  function resumeLater(): void {
    clock.after(Math.ceil((-left / perSecond()) * 1000), () => {
      if (isOver) return;
      fill();
      if (left < 0) return resumeLater();
      isPaused = false;
      channel.resume?.();
    });
  }

  function pause(): void {
    isPaused = true;
    channel.pause?.();
    resumeLater();
    if (filledMs - loggedMs < logEveryMs) return;
    loggedMs = filledMs;
    output.warn(
      { perSecond: perSecond() },
      'the server sends more notifications than "max_notifications" a second: its output is read no faster',
    );
  }

  function spend(messages: number): void {
    // The largest of all holds the server back for a second.
    left -= Math.min(messages, perSecond());
    if (left >= 0 || isPaused || isOver) return;
    fill();
    if (left < 0) pause();
  }

  return {
    count: bytes => spend(1 + Math.floor(bytes / bytesPerMessage)),
    countNoise: bytes => spend(bytes / noiseBytesPerMessage),
  };
}
