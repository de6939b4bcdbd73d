/**
 * Returns a function that returns the CPU time in ms that this thread has used since, which other processes do not
 * lengthen.
 */
export function startCpuTimer(): () => number {
  const before = process.threadCpuUsage();
  return () => {
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000;
  };
}
