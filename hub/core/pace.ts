import { type Clock, systemClock } from './clock.ts';

/** Time in ms of work after which a thread rests. */
const stretchMs = 0.1;
/**
 * Duration of a rest, relative to the work before it. The thread gets a processor again about 0.1 ms later than that.
 */
const restFactor = 0.5;
/**
 * Maximum duration of a rest in ms. The time since the last rest may be longer than the work, if the thread had no
 * processor.
 */
const maxRestMs = 0.5;

/** Lets the thread rest if it has worked since the last rest for a while. */
export type ThreadPace = () => void;

/**
 * Creates a function to call after each small piece of work, which paces a thread. Linux may let a running thread
 * finish its slice of several ms while a server or a client waits, whatever their priorities, so the thread yields the
 * processor by itself. It measures wall-clock time: the CPU time that Node reads is updated only at timer ticks, each 1
 * to 10 ms.
 */
export function createPace(
  clock: Pick<Clock, 'monotonic'> = systemClock,
  rest: (ms: number) => unknown = sleep,
): ThreadPace {
  let since = clock.monotonic();
  return () => {
    const worked = clock.monotonic() - since;
    if (worked < stretchMs) return;
    rest(Math.min(worked * restFactor, maxRestMs));
    since = clock.monotonic();
  };
}

const never = new Int32Array(new SharedArrayBuffer(4));

/** Blocks the thread. Atomics.wait accepts fractions of a ms. */
const sleep = (ms: number) => Atomics.wait(never, 0, 0, ms);
