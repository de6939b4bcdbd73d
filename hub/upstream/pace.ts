import type { Clock } from '#core';
import type { Channel } from '#jsonrpc';
import type { LimitedLog } from './limited-log.ts';

/** Limits how fast the hub reads server messages that answer no request. */
export type Pace = {
  /** Counts a message of this many bytes. Above the limit, the hub pauses reading the server's output. */
  count(bytes: number): void;
  /** Like `count`, for output that is not a message. Such output costs less. */
  countNoise(bytes: number): void;
  /** Counts the copies of a message that the hub sends to several clients. */
  countCopies(copies: number): void;
};

type PaceNeeds = {
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
  readonly output: LimitedLog;
};

/** Size after which a message counts as one more message, in bytes. */
const bytesPerMessage = 4096;
const noiseBytesPerMessage = 256;
/** Number of copies that count as one message: a copy costs less than reading the message. */
const copiesPerMessage = 10;
/** Minimum interval between log lines that report a paused server, in ms. */
const logEveryMs = 60_000;

/**
 * Creates a token bucket that refills in one second. Messages above the limit are not dropped: they wait in the
 * server's own output, and so do the answers behind them. `perSecond` is called each time, because the config may
 * change.
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
    // Even the largest message pauses the server for no more than one second.
    left -= Math.min(messages, perSecond());
    if (left >= 0 || isPaused || isOver) return;
    fill();
    if (left < 0) pause();
  }

  return {
    count: bytes => spend(1 + Math.floor(bytes / bytesPerMessage)),
    countNoise: bytes => spend(bytes / noiseBytesPerMessage),
    countCopies: copies => spend(Math.floor(copies / copiesPerMessage)),
  };
}
