import { type Clock, systemClock } from './clock.ts';

/** Time in ms after which a thread rests. */
const stretchMs = 0.1;
/** How many times as long as it has worked. A rest takes about 0.1 ms more than that until the thread has a processor again. */
const restFactor = 0.5;
/** Maximum duration of a rest in ms: a thread that had no processor for a while has not worked. */
const maxRestMs = 0.5;

/** Lets a thread rest if it has worked for a while. */
export type ThreadPace = () => void;

/**
 * Paces a thread: call it after each small piece of work. Linux may let a thread that runs finish its slice of several ms
 * while a server or a client waits, whatever their priorities, so the thread gives up the processor itself. It goes by the
 * clock: Linux adds to the processor time that Node reads only when its timer ticks, each 1 to 10 ms.
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

/** Stops the thread. Atomics.wait takes parts of a ms. */
const sleep = (ms: number) => Atomics.wait(never, 0, 0, ms);
