import { type Job, type Outcome, type Target } from './load/job.ts';
import { type Load, startLoad } from './load/load.ts';
import { median } from './median.ts';
import { pinApart } from './pin.ts';
import { serverFile } from './subjects/subjects.ts';
import { type SwitchedHub, startSwitchedHub } from './switched-hub.ts';
import { descendantsOf } from './usage.ts';

export type CostOptions = {
  /** Number of processes to measure, one after the other. */
  readonly processes: number;
  /** Number of rounds of each process with 32 concurrent calls. */
  readonly rounds: number;
};

/** Setup of a hub: its config besides the servers, and the token that its clients send. */
type Variant = {
  readonly config: Readonly<Record<string, unknown>>;
  readonly token?: string;
};

/** Setups without and with the feature that is measured. */
type Variants = { readonly off: Variant; readonly on: Variant };

/** Values of a round: off, off again, on, and off in a process that was never on. */
type Row = readonly [off: number, again: number, on: number, never: number];

/** Values for one number of concurrent calls: for each process, a row for each round. */
type Measured = { readonly cpuUs: Row[][]; readonly p50Us: Row[][] };

/** Returns the cost at a number of concurrent calls as lines of text. */
type CostLines = (concurrency: number, cost: Cost) => readonly string[];

/** CPU time and latency that the second setup adds, each with its control. */
export type Cost = {
  readonly cpu: Compared;
  readonly p50: Compared;
  /** CPU time of a process that was on and is off again, against one that was never on. */
  readonly off: string;
};

type Kind = {
  readonly concurrency: number;
  /** Number of calls that are measured in a run. */
  readonly calls: number;
  /** Part of the rounds in which this kind of run is made. */
  readonly share: number;
};

const kinds: readonly Kind[] = [
  { concurrency: 1, calls: 400, share: 0.5 },
  { concurrency: 32, calls: 5_000, share: 1 },
];
/** Time in ms until V8 has compiled the hot code of a new process, and the cost of calls is steady. */
const warmUpMs = 3_000;
/** Time in ms of calls before those that are measured. It is longer than the audit log delays its lines. */
const beforeMs = 120;
/** Upper limit of a job's time in ms. */
const maxJobMs = 60_000;

/**
 * Compares two setups of a hub in the same process. A reload switches between them before each run, and the first setup
 * runs twice in each round: the difference between these runs is the control. Two processes of one build differ by up
 * to 15 % for as long as they run, and a shared machine is sometimes slower by as much. So a process is its own
 * control, and runs are short and many. A process that was on has compiled code for both setups, and its calls may cost
 * more when it is off again. To show that, a second process that is never on runs in each round too.
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

/** Measures a new process, and one that is never on, into `seen`. Returns the number of wrong replies. */
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

/** Switches a hub to a setup, and measures calls to it. */
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
 * Calls `act` for each value in turn, beginning at index `first`, and backward every second time: data that one setup
 * leaves to be written to the disk disturbs the next one. Returns the results in the order of the values.
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

/** Cost that one setup adds to another. */
type Compared = {
  /** Difference of the last setup to the mean of the first two runs. */
  readonly added: number;
  /** Absolute mean difference of the first two runs, plus its uncertainty. */
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
  /** Uncertainty of the mean: twice the standard error. */
  readonly uncertainty: number;
  /** Medians of the single processes. */
  readonly medians: readonly number[];
};

const signed = (value: number): string => `${value < 0 ? '' : '+'}${value.toFixed(1)}`;

const textOf = ({ mean, uncertainty, medians }: Summary, unit: string): string =>
  `${signed(mean)}${unit} ± ${uncertainty.toFixed(1)} (processes ${medians.map(signed).join(', ')})`;

/** Computes the mean of a value over all rounds, without the smallest and the largest fifth. */
function summaryOf(processes: readonly (readonly Row[])[], pick: (row: Row) => number): Summary {
  const sorted = processes
    .flat()
    .map(pick)
    .toSorted((a, b) => a - b);
  const cut = Math.floor(sorted.length / 5);
  const kept = sorted.slice(cut, sorted.length - cut);
  const [least = NaN, most = NaN] = [kept[0], kept.at(-1)];
  // The error of a trimmed mean comes from all values, with the trimmed ones moved to the nearest kept value (Tukey and
  // McLaughlin, 1963).
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
