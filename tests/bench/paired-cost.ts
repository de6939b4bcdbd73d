import { type Job, type Outcome, type Target } from './load/job.ts';
import { type Load, startLoad } from './load/load.ts';
import { median } from './median.ts';
import { pinApart } from './pin.ts';
import { serverFile } from './subjects/subjects.ts';
import { type SwitchedHub, startSwitchedHub } from './switched-hub.ts';
import { descendantsOf } from './usage.ts';

export type CostOptions = {
  /** Number of processes, which run one after the other. */
  readonly processes: number;
  /** Rounds of each process with 32 concurrent calls. */
  readonly rounds: number;
};

/** How a hub is set up: its config besides the servers, and the token that its clients send. */
type Variant = {
  readonly config: Readonly<Record<string, unknown>>;
  readonly token?: string;
};

/** A hub without what is measured, and one with it. */
type Variants = { readonly off: Variant; readonly on: Variant };

/** A value of each run of a round: off, off again, on, and off in a process that was never on. */
type Row = readonly [off: number, again: number, on: number, never: number];

/** What was measured with one number of concurrent calls: for each process, a row for each round. */
type Measured = { readonly cpuUs: Row[][]; readonly p50Us: Row[][] };

/** What each number of concurrent calls costs, as lines of text. */
type CostLines = (concurrency: number, cost: Cost) => readonly string[];

/** CPU time and latency that the second variant adds, with their control. */
export type Cost = {
  readonly cpu: Compared;
  readonly p50: Compared;
  /** CPU time of the process when it is off, against one that was never on. */
  readonly off: string;
};

type Kind = {
  readonly concurrency: number;
  /** Number of calls that are measured in a run. */
  readonly calls: number;
  /** Share of the rounds. */
  readonly share: number;
};

const kinds: readonly Kind[] = [
  { concurrency: 1, calls: 400, share: 0.5 },
  { concurrency: 32, calls: 5_000, share: 1 },
];
/** Time until the calls of a new process cost about what they cost later: V8 compiles what is hot. */
const warmUpMs = 3_000;
/** Time of calls before those that are measured: longer than lines of the audit log wait to be written. */
const beforeMs = 120;
/** No job takes longer. */
const maxJobMs = 60_000;

/**
 * Compares a hub with the same process set up otherwise. A reload switches between the two before each run, and the first
 * runs twice in each round: what these two differ is the control. Two processes of one build differ by up to 15 % for as
 * long as they run, and a shared machine is slower now and then by as much. So a process is its own control, and runs are
 * short and many.
 *
 * A process that was on has compiled code for both, and its calls may cost more when it is off again. A second process that is
 * never on runs in each round too, and shows that.
 */
export async function measureCost(
  variants: Variants,
  options: CostOptions,
  linesOf: CostLines,
  progress: (text: string) => void,
) {
  const seen = new Map<Kind, Measured>(kinds.map(kind => [kind, { cpuUs: [], p50Us: [] }]));
  let wrong = 0;
  for (let index = 0; index < options.processes; index++) {
    progress(`process ${index + 1} of ${options.processes}`);
    wrong += await measureProcess(variants, options, seen);
  }
  const lines = Array.from(seen, ([{ concurrency }, { cpuUs, p50Us }]) =>
    linesOf(concurrency, {
      cpu: compare(cpuUs, percentOf, ' %'),
      p50: compare(p50Us, (value, base) => value - base, ' us'),
      off: textOf(
        summaryOf(cpuUs, ([off, again, , never]) => percentOf((off + again) / 2, never)),
        ' %',
      ),
    }),
  ).flat();
  return { lines, wrong };
}

const percentOf = (value: number, base: number): number => (value / base - 1) * 100;

/** Starts a process, and one that is never on, and adds what they measure. Returns the number of wrong replies. */
async function measureProcess(
  { off, on }: Variants,
  { rounds }: CostOptions,
  seen: ReadonlyMap<Kind, Measured>,
): Promise<number> {
  await using opened = new AsyncDisposableStack();
  const subject = await startSubject(opened, 'p', off);
  const never = await startSubject(opened, 'n', off);
  const pids = [subject, never].map(({ hub }) => hub.pid);
  opened.use(
    pinApart([...pids, ...descendantsOf(pids)], [process.pid, subject.load.pid, never.load.pid]),
  );
  const warmUp = { concurrency: 32, bytes: 200, durationMs: warmUpMs };
  for (const variant of [off, on]) {
    await never.load.run(warmUp);
    await switchTo(subject, variant);
    await subject.load.run(warmUp);
  }
  const runs = [
    { subject, variant: off },
    { subject, variant: off },
    { subject, variant: on },
    { subject: never, variant: off },
  ];
  let wrong = 0;
  for (const [kind, all] of seen) {
    const [cpuUs, p50Us]: [Row[], Row[]] = [[], []];
    for (let round = 0; round < rounds * kind.share; round++) {
      const outcomes = await inTurn(runs, round, run => measure(run.subject, run.variant, kind));
      cpuUs.push(rowOf(outcomes, ({ watchedCpuMs = NaN, calls }) => (watchedCpuMs * 1000) / calls));
      p50Us.push(rowOf(outcomes, ({ p50Ms }) => p50Ms * 1000));
      wrong += outcomes.reduce((sum, outcome) => sum + outcome.wrong, 0);
    }
    all.cpuUs.push(cpuUs);
    all.p50Us.push(p50Us);
  }
  return wrong;
}

type Subject = { readonly hub: SwitchedHub; readonly load: Load };

async function startSubject(
  opened: AsyncDisposableStack,
  suffix: string,
  variant: Variant,
): Promise<Subject> {
  const entry = { command: process.execPath, args: [serverFile], runtime: 'process' };
  const servers = { bench: { ...entry, auto_start: true } };
  const name = `agenthub-bench-${suffix}`;
  const hub = opened.use(await startSwitchedHub(name, servers, variant.config));
  return { hub, load: opened.use(await startLoad(targetOf(hub, variant))) };
}

const targetOf = ({ url }: SwitchedHub, { token }: Variant): Target => ({
  kind: 'mcp',
  url: `${url}/mcp`,
  tool: 'bench_fill',
  ...(token !== undefined && { token }),
});

async function switchTo({ hub, load }: Subject, variant: Variant): Promise<void> {
  await hub.use(variant.config);
  await load.connect(targetOf(hub, variant));
}

/** Switches a hub to a variant, and calls it. */
async function measure(subject: Subject, variant: Variant, { concurrency, calls }: Kind) {
  const { hub, load } = subject;
  await switchTo(subject, variant);
  const job: Job = { concurrency, bytes: 200, durationMs: beforeMs };
  await load.run(job);
  return await load.run({ ...job, durationMs: maxJobMs, calls, watchedPid: hub.pid });
}

function rowOf(outcomes: readonly Outcome[], pick: (outcome: Outcome) => number): Row {
  const [off = NaN, again = NaN, on = NaN, never = NaN] = outcomes.map(pick);
  return [off, again, on, never];
}

/**
 * Does something for each value, one after the other from another first one, every second time backward: what one variant
 * leaves to be written to the disk disturbs the next one. Results are in the order of the values.
 */
async function inTurn<T, R>(
  values: readonly T[],
  first: number,
  act: (value: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: { readonly at: number; readonly result: R }[] = [];
  for (let step = 0; step < values.length; step++) {
    const forward = first % 2 === 0 ? step : values.length - step;
    const at = (first + forward) % values.length;
    for (const value of values.slice(at, at + 1)) results.push({ at, result: await act(value) });
  }
  return results.toSorted((a, b) => a.at - b.at).map(({ result }) => result);
}

/** What one variant adds to another. */
type Compared = {
  /** Of the last variant to the mean of the first two. */
  readonly added: number;
  /** The difference of the first two, of either sign, and its uncertainty. */
  readonly spread: number;
  readonly text: string;
};

function compare(
  processes: readonly (readonly Row[])[],
  difference: (value: number, base: number) => number,
  unit: string,
): Compared {
  const added = summaryOf(processes, ([off, again, on]) => difference(on, (off + again) / 2));
  const control = summaryOf(processes, ([off, again]) => difference(again, off));
  const medians = [0, 1, 2].map(at => median(processes.flat().map(row => row[at] ?? NaN)) ?? NaN);
  return {
    added: added.mean,
    spread: Math.abs(control.mean) + control.uncertainty,
    text: `${textOf(added, unit)}; control ${textOf(control, unit)}; ${medians.map(us => `${us.toFixed(1)} us`).join(', ')}`,
  };
}

type Summary = {
  readonly mean: number;
  /** Twice the standard error. */
  readonly uncertainty: number;
  /** The median of each process. */
  readonly medians: readonly number[];
};

const signed = (value: number): string => `${value < 0 ? '' : '+'}${value.toFixed(1)}`;

const textOf = ({ mean, uncertainty, medians }: Summary, unit: string): string =>
  `${signed(mean)}${unit} ± ${uncertainty.toFixed(1)} (processes ${medians.map(signed).join(', ')})`;

/** The mean of a value of each round without the smallest and the largest fifth. */
function summaryOf(processes: readonly (readonly Row[])[], pick: (row: Row) => number): Summary {
  const sorted = processes
    .flat()
    .map(pick)
    .toSorted((a, b) => a - b);
  const cut = Math.floor(sorted.length / 5);
  const kept = sorted.slice(cut, sorted.length - cut);
  const [least = NaN, most = NaN] = [kept[0], kept.at(-1)];
  // The error of a trimmed mean comes from all values, those beyond the kept ones moved to them (Tukey and McLaughlin, 1963).
  const moved = sorted.map(value => Math.min(Math.max(value, least), most));
  const center = meanOf(moved);
  const variance = meanOf(moved.map(value => (value - center) ** 2));
  return {
    mean: meanOf(kept),
    uncertainty: (2 * Math.sqrt(variance * sorted.length)) / kept.length,
    medians: processes.map(rows => median(rows.map(pick)) ?? NaN),
  };
}

const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
