import type { Job } from './load/job.ts';
import {
  type RuntimeKind,
  type Subject,
  type SubjectName,
  startSubjects,
} from './subjects/subjects.ts';
import { median } from './median.ts';
import { engineCpuMs, residentMb } from './usage.ts';

/** Medians over the rounds of one subject and job. */
export type Figures = {
  readonly callsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** CPU time of the relay per call in microseconds; undefined where it cannot be measured. */
  readonly cpuUs: number | undefined;
  /** CPU time of the Docker engine and its shims per call, in microseconds. */
  readonly engineCpuUs: number | undefined;
  /** Maximum resident memory. */
  readonly residentMb: number | undefined;
  readonly wrong: number;
};

export type Comparison = {
  readonly runtime: RuntimeKind;
  readonly job: Job;
  readonly figures: ReadonlyMap<SubjectName, Figures>;
};

type SpeedOptions = {
  readonly rounds: number;
  readonly durationMs: number;
  readonly withPeers: boolean;
};

const concurrencies = [1, 32];
const sizes = [200, 20_000];
const sampleMs = 100;
const warmUpMs = 1_000;

/**
 * Compares the hub with the same server directly, a relay of SDK classes, a bare HTTP server and the peers. All run all
 * the time, and take turns (A B C D A B C D), so that other load on the machine affects all of them.
 */
export async function compareRelays(
  runtime: RuntimeKind,
  { rounds, durationMs, withPeers }: SpeedOptions,
  progress: (text: string) => void,
): Promise<readonly Comparison[]> {
  await using opened = new AsyncDisposableStack();
  progress(`${runtime}: starting`);
  const subjects = await startSubjects(runtime, withPeers, opened);
  const jobs = sizes.flatMap(bytes =>
    concurrencies.map((concurrency): Job => ({ concurrency, bytes, durationMs })),
  );
  // Warm up: V8 compiles hot code, and the heaps grow to their size.
  for (const job of jobs)
    for (const { load } of subjects) await load.run({ ...job, durationMs: warmUpMs });

  const comparisons: Comparison[] = [];
  for (const job of jobs) {
    progress(`${runtime}: ${job.bytes} bytes, ${job.concurrency} at once`);
    const seen = new Map<SubjectName, Figures[]>();
    for (let round = 0; round < rounds; round++)
      for (const subject of subjects) {
        const figures = await measure(runtime, subject, job);
        seen.set(subject.name, [...(seen.get(subject.name) ?? []), figures]);
      }
    comparisons.push({
      runtime,
      job,
      figures: new Map([...seen].map(([name, all]) => [name, summary(all)])),
    });
  }
  return comparisons;
}

/** Runs a job once on a subject. */
export async function measure(
  runtime: RuntimeKind,
  { pid, load }: Pick<Subject, 'pid' | 'load'>,
  job: Job,
): Promise<Figures> {
  // Without containers the engine's CPU time is unrelated to the calls.
  const engine = () => (runtime === 'docker' ? engineCpuMs() : undefined);
  let most = residentMb(pid);
  const sampling = setInterval(() => {
    const now = residentMb(pid);
    if (most !== undefined && now !== undefined) most = Math.max(most, now);
  }, sampleMs);
  const engineBefore = engine();
  const { calls, wrong, elapsedMs, p50Ms, p99Ms, watchedCpuMs } = await load.run({
    ...job,
    watchedPid: pid,
  });
  const engineAfter = engine();
  clearInterval(sampling);
  return {
    callsPerSecond: (calls * 1000) / elapsedMs,
    p50Ms,
    p99Ms,
    cpuUs: perCall(0, watchedCpuMs, calls),
    engineCpuUs: perCall(engineBefore, engineAfter, calls),
    residentMb: most,
    wrong,
  };
}

function perCall(before: number | undefined, after: number | undefined, calls: number) {
  return before === undefined || after === undefined
    ? undefined
    : ((after - before) * 1000) / calls;
}

function summary(all: readonly Figures[]): Figures {
  const of = (pick: (figures: Figures) => number | undefined) =>
    all.map(pick).filter(value => value !== undefined);
  return {
    callsPerSecond: median(of(figures => figures.callsPerSecond)) ?? 0,
    p50Ms: median(of(figures => figures.p50Ms)) ?? 0,
    p99Ms: median(of(figures => figures.p99Ms)) ?? 0,
    cpuUs: median(of(figures => figures.cpuUs)),
    engineCpuUs: median(of(figures => figures.engineCpuUs)),
    residentMb: most(of(figures => figures.residentMb)),
    wrong: of(figures => figures.wrong).reduce((sum, wrong) => sum + wrong, 0),
  };
}

const most = (values: readonly number[]) => (values.length === 0 ? undefined : Math.max(...values));
