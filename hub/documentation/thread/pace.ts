/** Processor time in ms after which a thread rests. */
const stretchMs = 1;
/** How many times as long as it has worked. */
const restFactor = 1.5;

/**
 * Paces a thread: call it after each piece of work. The priority of a thread counts within the hub only, not against servers
 * and clients, so it leaves the processors to others for more than half of the time, in short turns.
 */
export function createPace(): () => void {
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
