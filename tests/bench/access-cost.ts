import { createHash, randomBytes } from 'node:crypto';
import type { Job } from './load/job.ts';
import { type Load, startLoad } from './load/load.ts';
import { median } from './median.ts';
import { pinApart } from './pin.ts';
import { type Figures, measure } from './relay-speed.ts';
import { startHub } from './subjects/hub.ts';
import { serverFile } from './subjects/subjects.ts';
import { descendantsOf } from './usage.ts';

/** Time until the calls of a new process cost about what they cost later: V8 compiles what is hot. */
const warmUpMs = 4_000;
/** The bounds of what access control may add. */
const allowedCpu = 0.08;
const allowedUs = 20;

/** Rules that match no call of the benchmark, so that all of them are read. */
const rules = Array.from({ length: 10 }, (_, index) => ({
  clients: [`client-${index}`, `other-${index}-*`],
  tools: [`*_delete_${index}*`],
  action: 'deny',
}));

export type AccessOptions = Pick<Job, 'durationMs'> & {
  /** Number of processes of each subject, which run one after the other. */
  readonly processes: number;
  /** Rounds of each process. */
  readonly rounds: number;
};

/** A value of each subject: without access control, the same again (the control), and with it. */
type Row = readonly [off: number, again: number, on: number];

/** What one process of each subject measured with one job, a row for each round. */
type Measured = { readonly cpuUs: readonly Row[]; readonly p50Us: readonly Row[] };

/** One subject of the three. */
type Subject = { readonly pid: number; readonly load: Load };

/**
 * Compares a hub with named clients, ten policy rules and the audit log with one without them, which runs twice: what
 * these two differ is the control. All take turns in every round. Two processes of one build differ by several percent
 * for as long as they run, so each subject is started several times, and what counts is the median over its processes.
 */
export async function measureAccess(options: AccessOptions, progress: (text: string) => void) {
  const seen = new Map<number, Measured[]>([
    [1, []],
    [32, []],
  ]);
  let wrong = 0;
  for (let index = 0; index < options.processes; index++) {
    progress(`processes ${index + 1} of ${options.processes}`);
    wrong += await measureProcesses(index, options, seen);
  }
  const lines = Array.from(seen, ([concurrency, all]) => [
    cpuLine(concurrency, all),
    p50Line(concurrency, all),
  ]).flat();
  return { lines, wrong };
}

/** Starts one process of each subject, and adds what they measure. Returns the number of wrong replies. */
async function measureProcesses(
  index: number,
  { rounds, durationMs }: AccessOptions,
  seen: ReadonlyMap<number, Measured[]>,
): Promise<number> {
  await using opened = new AsyncDisposableStack();
  const subjects = await startAll(opened, index);
  for (const { load } of subjects)
    await load.run({ concurrency: 32, bytes: 200, durationMs: warmUpMs });
  let wrong = 0;
  for (const [concurrency, all] of seen) {
    const job: Job = { concurrency, bytes: 200, durationMs };
    const [cpuUs, p50Us]: [Row[], Row[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      const figures = await measureRound(subjects, job, index + round);
      const row = (pick: (one: Figures) => number | undefined): Row => {
        const [off = NaN, again = NaN, on = NaN] = figures.map(one => pick(one) ?? NaN);
        return [off, again, on];
      };
      cpuUs.push(row(one => one.cpuUs));
      p50Us.push(row(one => one.p50Ms * 1000));
      wrong += figures.reduce((sum, one) => sum + one.wrong, 0);
    }
    all.push({ cpuUs, p50Us });
  }
  return wrong;
}

/** Starts the subjects in another order each time, as the first finds the machine as the last round left it. */
async function startAll(opened: AsyncDisposableStack, index: number): Promise<readonly Subject[]> {
  const token = randomBytes(32).toString('base64url');
  const tokenDigest = createHash('sha256').update(token).digest('hex');
  const off = { config: { audit: { enabled: false } }, sent: {} };
  const on = {
    config: {
      clients: { bench: { token: `sha256:${tokenDigest}` } },
      policy: rules,
      audit: { enabled: true },
    },
    sent: { token },
  };
  const entry = { command: process.execPath, args: [serverFile], runtime: 'process' };
  const servers = { bench: { ...entry, auto_start: true } };
  const subjects = await inTurn([off, off, on], index, async ({ config, sent }, at) => {
    const hub = opened.use(await startHub(`agenthub-bench-p${at}`, servers, { config }));
    const target = { kind: 'mcp', url: `${hub.url}/mcp`, tool: 'bench_fill', ...sent } as const;
    return { pid: hub.pid, load: opened.use(await startLoad(target)) };
  });
  const relaying = subjects.map(({ pid }) => pid);
  opened.use(
    pinApart(
      [...relaying, ...descendantsOf(relaying)],
      [process.pid, ...subjects.map(({ load }) => load.pid)],
    ),
  );
  return subjects;
}

const measureRound = async (subjects: readonly Subject[], job: Job, first: number) =>
  await inTurn(subjects, first, subject => measure('process', subject, job));

/**
 * Does something for each value, one after the other from another first one, every second time backward: what one subject
 * leaves to be written to the disk disturbs the next one. Results are in the order of the values.
 */
async function inTurn<T, R>(
  values: readonly T[],
  first: number,
  act: (value: T, at: number) => Promise<R>,
): Promise<readonly R[]> {
  const results: { readonly at: number; readonly result: R }[] = [];
  for (let step = 0; step < values.length; step++) {
    const forward = first % 2 === 0 ? step : values.length - step;
    const at = (first + forward) % values.length;
    for (const value of values.slice(at, at + 1))
      results.push({ at, result: await act(value, at) });
  }
  return results.toSorted((a, b) => a.at - b.at).map(({ result }) => result);
}

function cpuLine(concurrency: number, all: readonly Measured[]): string {
  const rows = all.map(({ cpuUs }) => cpuUs);
  const { added, control } = compare(rows, (value, base) => value / base - 1);
  const percent = (ratio: number) => `${ratio < 0 ? '' : '+'}${(ratio * 100).toFixed(1)} %`;
  return `${verdict(median(added), allowedCpu)} CPU per call, ${concurrency} at once, clients, ten rules and audit: ${summary(added, percent)}; control ${summary(control, percent)}; at most ${percent(allowedCpu)}; ${medians(rows)}`;
}

function p50Line(concurrency: number, all: readonly Measured[]): string {
  const rows = all.map(({ p50Us }) => p50Us);
  const { added, control } = compare(rows, (value, base) => value - base);
  const us = (value: number) => `${value < 0 ? '' : '+'}${value.toFixed(1)} us`;
  // The bound is for a call alone.
  const [word, bound] =
    concurrency > 1
      ? ['      ', '']
      : [verdict(median(added), allowedUs), `; at most ${us(allowedUs)}`];
  return `${word} p50, ${concurrency} at once: ${summary(added, us)}; control ${summary(control, us)}${bound}; ${medians(rows)}`;
}

/** What the last subject adds to the first two, and the second to the first: for each process, the median of its rounds. */
function compare(
  processes: readonly (readonly Row[])[],
  difference: (value: number, base: number) => number,
) {
  const ofEach = (pick: (row: Row) => number) =>
    processes.map(rows => median(rows.map(pick)) ?? NaN);
  return {
    added: ofEach(([off, again, on]) => difference(on, (off + again) / 2)),
    control: ofEach(([off, again]) => difference(again, off)),
  };
}

const verdict = (added: number | undefined, allowed: number): string =>
  added !== undefined && added <= allowed ? 'ok    ' : 'MISSED';

const summary = (values: readonly number[], text: (value: number) => string): string =>
  `${text(median(values) ?? NaN)} (${text(Math.min(...values))} to ${text(Math.max(...values))})`;

const medians = (processes: readonly (readonly Row[])[]): string =>
  [0, 1, 2]
    .map(at => `${(median(processes.flat().map(row => row[at] ?? NaN)) ?? NaN).toFixed(1)} us`)
    .join(', ');
