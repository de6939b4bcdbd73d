import { threadsCpuMs } from '../usage.ts';
import type { Call, Job, Outcome } from './job.ts';

/**
 * Keeps `concurrency` calls open for the time of the job or its number of calls, and waits for the last answers. Before
 * that it makes one call on each connection, which are not measured, so that all connections are open.
 */
export async function runJob(
  { concurrency, bytes, durationMs, calls = Infinity, watchedPid }: Job,
  call: Call,
  isRight: (reply: Buffer, id: number, bytes: number) => boolean,
): Promise<Outcome> {
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      const { promise, resolve } = Promise.withResolvers<unknown>();
      call(nextId++, bytes, resolve);
      await promise;
    }),
  );
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const latencies: number[] = [];
  const watched = () => (watchedPid === undefined ? undefined : threadsCpuMs(watchedPid));
  const cpuBefore = watched();
  const begin = performance.now();
  let open = 0;
  let sentCalls = 0;
  let wrong = 0;

  function next(): void {
    const sent = performance.now();
    if (sent - begin > durationMs || sentCalls >= calls) {
      if (open > 0) return;
      const cpuAfter = watched();
      const watchedCpuMs =
        cpuBefore === undefined || cpuAfter === undefined ? undefined : cpuAfter - cpuBefore;
      resolve({ ...outcomeOf(latencies, wrong, sent - begin), watchedCpuMs });
      return;
    }
    const id = nextId++;
    open++;
    sentCalls++;
    call(id, bytes, reply => {
      latencies.push(performance.now() - sent);
      if (!isRight(reply, id, bytes)) wrong++;
      open--;
      next();
    });
  }

  for (let slot = 0; slot < concurrency; slot++) next();
  return await promise;
}

/** Ids continue from job to job, so a late reply is never taken for that of another call. */
let nextId = 1;

function outcomeOf(
  latencies: number[],
  wrong: number,
  elapsedMs: number,
): Omit<Outcome, 'watchedCpuMs'> {
  const sorted = Float64Array.from(latencies).toSorted();
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0;
  return { calls: sorted.length, wrong, elapsedMs, p50Ms: at(0.5), p99Ms: at(0.99) };
}
