import type { Call, Job, Outcome } from './job.ts';

/** Keeps `concurrency` calls open for the time of the job, and waits for the last of them. */
export function runJob(
  { concurrency, bytes, durationMs }: Job,
  call: Call,
  isRight: (reply: Buffer, id: number, bytes: number) => boolean,
): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const latencies: number[] = [];
  const begin = performance.now();
  let open = 0;
  let wrong = 0;

  function next(): void {
    const sent = performance.now();
    if (sent - begin > durationMs) {
      if (open === 0) resolve(outcomeOf(latencies, wrong, sent - begin));
      return;
    }
    const id = nextId++;
    open++;
    call(id, bytes, reply => {
      latencies.push(performance.now() - sent);
      if (!isRight(reply, id, bytes)) wrong++;
      open--;
      next();
    });
  }

  for (let slot = 0; slot < concurrency; slot++) next();
  return promise;
}

/** Ids go on from job to job: a reply that comes late is never taken for another. */
let nextId = 1;

function outcomeOf(latencies: number[], wrong: number, elapsedMs: number): Outcome {
  const sorted = Float64Array.from(latencies).toSorted();
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0;
  return { calls: sorted.length, wrong, elapsedMs, p50Ms: at(0.5), p99Ms: at(0.99) };
}
