import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { containerEntry } from './containers.ts';
import type { Job } from './load/job.ts';
import { type Load, startLoad } from './load/load.ts';
import { idleMemory } from './idle-memory.ts';
import { median } from './median.ts';
import { type Figures, measure } from './relay-speed.ts';
import { pinApart } from './pin.ts';
import { startOnce } from './start-time.ts';
import { type Hub, startHub } from './subjects/hub.ts';
import { type RuntimeKind, serverFile } from './subjects/subjects.ts';
import { descendantsOf, enginePids } from './usage.ts';

/** A figure of the working tree and of the two copies of the commit, with a value for each round. */
type Figure = {
  readonly name: string;
  readonly isBetter: 'higher' | 'lower';
  readonly rounds: readonly (readonly [now: number, first: number, second: number])[];
};

type AgainstOptions = {
  readonly commit: string;
  readonly rounds: number;
  readonly durationMs: number;
  readonly runtimes: readonly RuntimeKind[];
};

/** Paths of the working tree and the two copies of the commit, in the order of a figure's values. */
type Trees = readonly [now: string, first: string, second: string];

const warmUpMs = 2_000;
/** Number of rounds that start hubs only to measure their idle memory. Each hub takes 5 s to settle. */
const idleRounds = 3;
/** How much worse than the commit a figure may be, beyond the spread of the control. */
const allowed = 0.02;

/**
 * Compares the working tree with a commit. The commit runs twice, as two hubs of the same code: the difference between
 * these is the control, and a difference within its spread does not count. All take turns in every round.
 */
export async function compareWithCommit(
  { commit, rounds, durationMs, runtimes }: AgainstOptions,
  progress: (text: string) => void,
): Promise<{ readonly lines: readonly string[]; readonly wrong: number }> {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-bench-against-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  progress(`building ${commit}`);
  const trees: Trees = [
    process.cwd(),
    await checkOut(commit, join(folder, 'first')),
    await checkOut(commit, join(folder, 'second')),
  ];
  const figures: Figure[] = [];
  let wrong = 0;
  for (const runtime of runtimes) {
    const relayed = await compareRelaying(runtime, trees, { rounds, durationMs }, progress);
    figures.push(...relayed.figures);
    wrong += relayed.wrong;
    progress(`${runtime}: idle memory`);
    figures.push(
      await inTurn(`MB idle with 20 servers, ${runtime}`, idleRounds, trees, tree =>
        idleMemory(runtime, tree),
      ),
    );
  }
  progress('start');
  const dataOf = (tree: string) => join(folder, `data-${trees.indexOf(tree)}`);
  const start = async (tree: string) => await startOnce(dataOf(tree), tree);
  // The first start detects the MCP revision of the server, so it is not measured.
  for (const tree of trees) await start(tree);
  figures.push(await inTurn('ms from start to first call', rounds, trees, start));
  return {
    lines: [
      `The working tree against ${commit}, ${rounds} rounds; control: ${commit} against itself`,
      ...figures.map(lineOf),
    ],
    wrong,
  };
}

/** Creates a built copy of the commit. It gets the dependencies of the working tree if the lock files are equal. */
async function checkOut(commit: string, folder: string): Promise<string> {
  execFileSync('git', ['clone', '--quiet', '--no-checkout', process.cwd(), folder]);
  execFileSync('git', ['-C', folder, 'checkout', '--quiet', '--detach', commit]);
  const lock = (tree: string) => readFileSync(join(tree, 'package-lock.json'), 'utf8');
  if (lock(folder) === lock(process.cwd()))
    await cp('node_modules', join(folder, 'node_modules'), {
      recursive: true,
      verbatimSymlinks: true,
      // This folder contains compiled code of the working tree.
      filter: source => !source.endsWith(join('node_modules', '.cache')),
    });
  execFileSync(process.execPath, ['scripts/prepare.mjs'], { cwd: folder, stdio: 'inherit' });
  return folder;
}

async function compareRelaying(
  runtime: RuntimeKind,
  trees: Trees,
  { rounds, durationMs }: Pick<AgainstOptions, 'rounds' | 'durationMs'>,
  progress: (text: string) => void,
): Promise<{ readonly figures: readonly Figure[]; readonly wrong: number }> {
  await using opened = new AsyncDisposableStack();
  const entry =
    runtime === 'docker'
      ? containerEntry(serverFile)
      : { command: process.execPath, args: [serverFile] };
  const subjects: { readonly hub: Hub; readonly load: Load }[] = [];
  for (const [index, root] of trees.entries()) {
    const servers = { bench: { ...entry, runtime, auto_start: true } };
    const hub = opened.use(await startHub(`agenthub-bench-a${index}`, servers, { root }));
    const target = { kind: 'mcp', url: `${hub.url}/mcp`, tool: 'bench_fill' } as const;
    subjects.push({ hub, load: opened.use(await startLoad(target)) });
  }
  const relaying = [
    ...subjects.map(({ hub }) => hub.pid),
    ...(runtime === 'docker' ? enginePids() : []),
  ];
  opened.use(
    pinApart(
      [...relaying, ...descendantsOf(relaying)],
      [process.pid, ...subjects.map(({ load }) => load.pid)],
    ),
  );
  const jobs: readonly Job[] = [
    { concurrency: 1, bytes: 200, durationMs },
    { concurrency: 32, bytes: 200, durationMs },
    { concurrency: 32, bytes: 20_000, durationMs },
  ];
  for (const job of jobs)
    for (const { load } of subjects) await load.run({ ...job, durationMs: warmUpMs });
  const figures: Figure[] = [];
  let wrong = 0;
  for (const job of jobs) {
    const what = `${job.bytes} bytes, ${job.concurrency} at once, ${runtime}`;
    progress(what);
    const seen: Figures[][] = [];
    for (let round = 0; round < rounds; round++) {
      const row = [];
      // Rotate the order: the first of a round finds the machine in the state that the previous round left.
      for (const index of trees.keys()) {
        const subject = subjects[(index + round) % trees.length];
        if (subject)
          row.push({ at: (index + round) % trees.length, of: await measureOne(subject, job) });
      }
      seen.push(row.toSorted((a, b) => a.at - b.at).map(({ of }) => of));
    }
    wrong += seen.flat().reduce((sum, one) => sum + one.wrong, 0);
    const of = (name: string, isBetter: Figure['isBetter'], pick: FigurePick) =>
      figures.push({
        name: `${name}, ${what}`,
        isBetter,
        rounds: seen.map(row => values(row, pick)),
      });
    of('CPU us per call', 'lower', one => one.cpuUs);
    of('p50 ms', 'lower', one => one.p50Ms);
    if (job.concurrency > 1) {
      of('calls/s', 'higher', one => one.callsPerSecond);
      of('MB loaded', 'lower', one => one.residentMb);
    }
  }
  return { figures, wrong };

  async function measureOne({ hub, load }: (typeof subjects)[number], job: Job) {
    return await measure(runtime, { pid: hub.pid, load }, job);
  }
}

type FigurePick = (of: Figures) => number | undefined;

function values(row: readonly Figures[], pick: FigurePick): readonly [number, number, number] {
  const [now = NaN, first = NaN, second = NaN] = row.map(one => pick(one) ?? NaN);
  return [now, first, second];
}

/** Measures one value of each tree in each round, one tree after the other. Smaller values are better. */
async function inTurn(
  name: string,
  rounds: number,
  trees: Trees,
  measureTree: (root: string) => Promise<number | undefined>,
): Promise<Figure> {
  const all: (readonly [number, number, number])[] = [];
  for (let round = 0; round < rounds; round++) {
    const [now, first, second] = trees;
    const ofFirst = (await measureTree(first)) ?? NaN;
    const ofNow = (await measureTree(now)) ?? NaN;
    all.push([ofNow, ofFirst, (await measureTree(second)) ?? NaN]);
  }
  return { name, isBetter: 'lower', rounds: all };
}

/** Returns a line with the median ratio of the working tree to the commit, and whether it is worse than allowed. */
function lineOf({ name, isBetter, rounds }: Figure): string {
  const ratios = rounds.map(([now, first, second]) => now / ((first + second) / 2));
  const control = rounds.map(([, first, second]) => second / first);
  const ratio = median(ratios) ?? NaN;
  const spread = Math.max(Math.abs((median(control) ?? NaN) - 1), 2 * errorOfMedian(control));
  const worse = isBetter === 'lower' ? ratio - 1 : 1 - ratio;
  const verdict = worse > spread + allowed ? 'WORSE ' : 'ok    ';
  const [now, first, second] = [0, 1, 2].map(index => median(rounds.map(row => row[index] ?? NaN)));
  const shown = (value: number | undefined) => value?.toPrecision(4) ?? '-';
  return `  ${verdict} x${ratio.toFixed(3)} (control within ${(spread * 100).toFixed(1)} %)  ${name}: ${shown(now)} against ${shown(first)} and ${shown(second)}`;
}

/** Returns the standard error of the median of normally distributed values: 1.2533 times that of the mean. */
function errorOfMedian(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance =
    values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, values.length - 1);
  return (1.2533 * Math.sqrt(variance)) / Math.sqrt(values.length);
}
