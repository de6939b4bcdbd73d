/** Processor time in ms after which a thread rests. */
const stretchMs = 0.1;
/** How many times as long as it has worked. */
const restFactor = 2;

/** Lets a thread rest if it has worked for a while. */
export type ThreadPace = () => void;

/**
 * Paces a thread: call it after each small piece of work. Linux may let a thread that runs finish its slice of several ms
 * while a server or a client waits, whatever their priorities, so the thread gives up the processor itself.
 */
export function createPace(): ThreadPace {
  const never = new Int32Array(new SharedArrayBuffer(4));
  const usedMs = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  let since = usedMs();
  return () => {
    const worked = usedMs() - since;
    if (worked < stretchMs) return;
    Atomics.wait(never, 0, 0, worked * restFactor);
    since = usedMs();
  };
}
