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

export type CostOptions = Pick<Job, 'durationMs'> & {
  /** Number of processes of each subject, which run one after the other. */
  readonly processes: number;
  /** Rounds of each process. */
  readonly rounds: number;
};

/** How a hub is set up: its config besides the servers, and the token that its clients send. */
type Variant = {
  readonly config: Readonly<Record<string, unknown>>;
  readonly token?: string;
};

/** A hub without what is measured, and one with it. */
type Variants = { readonly off: Variant; readonly on: Variant };

/** A value of each subject: off, off again, on. */
type Row = readonly [off: number, again: number, on: number];

/** What one process of each subject measured with one job, a row for each round. */
type Measured = { readonly cpuUs: readonly Row[]; readonly p50Us: readonly Row[] };

/** One subject of the three. */
type Subject = { readonly pid: number; readonly load: Load };

/** What each number of concurrent calls costs, as lines of text. */
type CostLines = (concurrency: number, cost: Cost) => readonly string[];

/** CPU time and latency that the last variant adds, and their control, for each process. */
export type Cost = { readonly cpu: Compared; readonly p50: Compared };

/**
 * Compares a hub with one that is set up otherwise and runs twice: what these two differ is the control. All take turns
 * in every round. Two processes of one build differ by several percent for as long as they run, so each is started
 * several times, and what counts is the median over its processes.
 */
export async function measureCost(
  variants: Variants,
  options: CostOptions,
  linesOf: CostLines,
  progress: (text: string) => void,
) {
  const seen = new Map<number, Measured[]>([
    [1, []],
    [32, []],
  ]);
  let wrong = 0;
  for (let index = 0; index < options.processes; index++) {
    progress(`processes ${index + 1} of ${options.processes}`);
    wrong += await measureProcesses(variants, index, options, seen);
  }
  const lines = Array.from(seen, ([concurrency, all]) =>
    linesOf(concurrency, {
      cpu: compare(
        all.map(({ cpuUs }) => cpuUs),
        (value, base) => (value / base - 1) * 100,
        ' %',
      ),
      p50: compare(
        all.map(({ p50Us }) => p50Us),
        (value, base) => value - base,
        ' us',
      ),
    }),
  ).flat();
  return { lines, wrong };
}

/** Starts one process of each subject, and adds what they measure. Returns the number of wrong replies. */
async function measureProcesses(
  variants: Variants,
  index: number,
  { rounds, durationMs }: CostOptions,
  seen: ReadonlyMap<number, Measured[]>,
): Promise<number> {
  await using opened = new AsyncDisposableStack();
  const subjects = await startAll(opened, variants, index);
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
async function startAll(
  opened: AsyncDisposableStack,
  { off, on }: Variants,
  index: number,
): Promise<readonly Subject[]> {
  const entry = { command: process.execPath, args: [serverFile], runtime: 'process' };
  const servers = { bench: { ...entry, auto_start: true } };
  const subjects = await inTurn([off, off, on], index, async ({ config, token }, at) => {
    const hub = opened.use(await startHub(`agenthub-bench-p${at}`, servers, { config }));
    const target = {
      kind: 'mcp',
      url: `${hub.url}/mcp`,
      tool: 'bench_fill',
      ...(token !== undefined && { token }),
    } as const;
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

/** What one variant adds to another, as the median over the processes, with the smallest and the largest. */
type Compared = {
  /** Of the last subject to the mean of the first two. */
  readonly added: number;
  /** The largest difference of the first two, of either sign. */
  readonly spread: number;
  readonly text: string;
};

function compare(
  processes: readonly (readonly Row[])[],
  difference: (value: number, base: number) => number,
  unit: string,
): Compared {
  const ofEach = (pick: (row: Row) => number) =>
    processes.map(rows => median(rows.map(pick)) ?? NaN);
  const added = ofEach(([off, again, on]) => difference(on, (off + again) / 2));
  const control = ofEach(([off, again]) => difference(again, off));
  const signed = (value: number) => `${value < 0 ? '' : '+'}${value.toFixed(1)}${unit}`;
  const summary = (values: readonly number[]) =>
    `${signed(median(values) ?? NaN)} (${signed(Math.min(...values))} to ${signed(Math.max(...values))})`;
  const medians = [0, 1, 2].map(at => median(processes.flat().map(row => row[at] ?? NaN)) ?? NaN);
  return {
    added: median(added) ?? NaN,
    spread: Math.max(...control.map(Math.abs)),
    text: `${summary(added)}; control ${summary(control)}; ${medians.map(us => `${us.toFixed(1)} us`).join(', ')}`,
  };
}
