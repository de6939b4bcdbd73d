import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isReply } from './load/job.ts';
import { wayOverMcp } from './load/over-http.ts';
import { median } from './median.ts';
import { quantile, type Ratio, createRandom, ratioOfP99 } from './ratio.ts';
import { startHub } from './subjects/hub.ts';
import { serverFile } from './subjects/subjects.ts';
import { argumentsOf, descendantsOf, proportionalMb } from './usage.ts';

const modules = 200;
const filesOfModule = 10;
/** Number of notes that cover all modules. */
const overviews = 3;
/** Limits of a run without a model. */
const maxRatio = 1.5;
const maxSeconds = 20;
const maxMb = 150;
/** Pause between two calls in ms. Without it the client would measure how the processors are shared. */
const pauseMs = 2;
/** Size of each tool result in bytes. */
const bytes = 200;
const sampleMs = 100;
const warmUpMs = 3_000;
/** Command line argument by which the process of a run is found. */
const role = 'agenthub-documentation';
const conditions = ['alone', 'again', 'beside'] as const;
type Condition = (typeof conditions)[number];

/**
 * Measures a documentation run of 2,000 files: its duration, its memory in the hub, and the latency that it adds to
 * concurrent calls. Blocks of calls alone, alone again (the control) and during a run take turns in random order.
 */
export async function measureDocumentation(rounds: number, progress: (text: string) => void) {
  await using opened = new AsyncDisposableStack();
  const home = await realpath(await mkdtemp(join(tmpdir(), 'agenthub-bench-docs-')));
  opened.defer(() => rm(home, { recursive: true, force: true }));
  const vault = join(home, 'vault');
  await mkdir(join(vault, '.obsidian'), { recursive: true });
  await writeFile(join(vault, '.obsidian', 'app.json'), '{}');
  const repository = join(home, 'repository');
  await writeRepository(repository);
  const entry = { command: process.execPath, args: [serverFile], runtime: 'process' };
  const hub = opened.use(
    await startHub(
      'agenthub-bench-docs',
      { bench: { ...entry, auto_start: true } },
      // Without an engine, Git runs as a process of the hub's user.
      {
        config: { repositories: [home], documentation: { vault } },
        settings: { DOCKER_HOST: `unix://${home}/none.sock` },
      },
    ),
  );
  const { call, end } = await (
    await wayOverMcp({ kind: 'mcp', url: `${hub.url}/mcp`, tool: 'bench_fill' })
  ).begin(1);
  const blocks: Record<Condition, number[][]> = { alone: [], again: [], beside: [] };
  const seconds: number[] = [];
  let [wrong, id, peakMb] = [0, 0, 0];

  async function block(isOver: () => boolean): Promise<number[]> {
    const times: number[] = [];
    while (!isOver()) {
      const { promise, resolve } = Promise.withResolvers<Buffer>();
      const begun = performance.now();
      call(++id, bytes, resolve);
      const reply = await promise;
      times.push(performance.now() - begun);
      if (!isReply(reply, id, bytes)) wrong++;
      await delay(pauseMs);
    }
    return times;
  }

  const untilLater = (ms: number) => {
    const until = performance.now() + ms;
    return () => performance.now() > until;
  };

  async function beside(): Promise<number[]> {
    return await whileDocumenting(async isDone => await block(isDone));
  }

  /** Samples memory during a run without calls, as reading the memory of a process pauses it for a while. */
  async function sampledRun(): Promise<void> {
    await whileDocumenting(async isDone => {
      while (!isDone()) {
        peakMb = Math.max(peakMb, memory());
        await delay(sampleMs);
      }
    });
  }

  /** Calls `work` during a documentation run. `isDone` returns true once the run has ended. */
  async function whileDocumenting<T>(work: (isDone: () => boolean) => Promise<T>): Promise<T> {
    await rm(join(vault, 'app'), { recursive: true, force: true });
    const begun = performance.now();
    let isDone = false;
    const run = runDocumentation(hub.url, repository).finally(() => (isDone = true));
    const done = await work(() => isDone);
    await run;
    seconds.push((performance.now() - begun) / 1_000);
    const notes = (await readdir(join(vault, 'app'))).length;
    if (notes !== modules + overviews) throw new Error(`the run has written ${notes} notes`);
    return done;
  }

  /** Returns the memory of the hub and the process of a run, without Git, in MB. */
  const memory = () =>
    [hub.pid, ...descendantsOf([hub.pid]).filter(pid => argumentsOf(pid).includes(role))].reduce(
      (mb, pid) => mb + proportionalMb(pid),
      0,
    );
  await block(untilLater(warmUpMs));
  const idleMb = memory();
  const randomBelow = createRandom();
  await sampledRun();
  const first = { seconds: seconds.splice(0), mb: peakMb - idleMb };
  for (let round = 0; round < rounds; round++) {
    progress(`documentation: round ${round + 1} of ${rounds}`);
    const left: Condition[] = [...conditions];
    while (left.length > 0)
      for (const condition of left.splice(randomBelow(left.length), 1)) {
        const ms = (seconds.at(-1) ?? first.seconds[0] ?? 1) * 1_000;
        blocks[condition].push(
          condition === 'beside' ? await beside() : await block(untilLater(ms)),
        );
      }
  }
  end();
  await sampledRun();
  seconds.pop();
  const added = peakMb - idleMb;
  const duration = median(seconds) ?? NaN;
  return {
    wrong,
    lines: [
      ratioLine(blocks),
      ...conditions.map(name => {
        const times = blocks[name].flat();
        const [p50, p90, p99] = [0.5, 0.9, 0.99].map(part => quantile(times, part).toFixed(2));
        return `         ${name}: p50 ${p50}, p90 ${p90}, p99 ${p99} ms of ${times.length} calls`;
      }),
      `${verdict(duration <= maxSeconds)} ${modules * filesOfModule} files without a model: ${duration.toFixed(1)} s, at most ${maxSeconds} s`,
      `${verdict(added <= maxMb)} memory of the hub and the process of a run, in the last of ${rounds + 2} runs or the first: +${added.toFixed(0)} MB, at most +${maxMb} MB; in the first run +${first.mb.toFixed(0)} MB, ${(memory() - idleMb).toFixed(0)} MB more afterwards`,
    ],
  };
}

const verdict = (isMet: boolean) => (isMet ? 'ok    ' : 'MISSED');

function ratioLine(blocks: Record<Condition, number[][]>): string {
  const beside = ratioOfP99(blocks.beside, blocks.alone);
  const control = ratioOfP99(blocks.again, blocks.alone);
  const text = ({ value, from, to }: Ratio) =>
    `${value.toFixed(2)} (${from.toFixed(2)} to ${to.toFixed(2)})`;
  return `${verdict(beside.value <= maxRatio)} p99 of calls beside a documentation run: x${text(beside)}, at most x${maxRatio}; the control x${text(control)}`;
}

/** Runs a documentation job to its end. Rejects if it fails. */
async function runDocumentation(url: string, repository: string): Promise<void> {
  const response = await fetch(`${url}/pipelines/documentation`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ repo_path: repository, project_name: 'app', model: 'none' }),
  });
  const text = await response.text();
  if (response.status !== 202) throw new Error(`the run did not begin: ${text}`);
  const { job_id: job } = JSON.parse(text);
  const events = await (await fetch(`${url}/jobs/${String(job)}/events`)).text();
  if (!/"state":"done"/.test(events)) throw new Error(`the run failed: ${events.slice(-500)}`);
}

/** Creates a Git repository of TypeScript files of 4 KB that import each other. */
async function writeRepository(folder: string): Promise<void> {
  for (let module = 0; module < modules; module++)
    for (let file = 0; file < filesOfModule; file++) {
      const path = join(folder, folderOf(module), `file${file}.ts`);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, sourceOf(module, file));
    }
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=bench', '-c', 'user.email=a@b.c', ...args]);
  git('init', '--quiet', '--initial-branch=main');
  git('add', '--all');
  git('commit', '--quiet', '--message=first');
}

const folderOf = (module: number) => `src/area${module % 10}/m${module}`;

function sourceOf(module: number, file: number): string {
  const functions = Array.from(
    { length: 20 },
    (_, at) =>
      `/** Function ${at} of file ${file} in module ${module}. It adds one. */\nexport function f${at}(value: number, other: { readonly a: string }): number {\n  const sum = value + ${at};\n  if (sum > 3) return sum * 2;\n  return sum - other.a.length;\n}\n`,
  );
  const used = `../../../${folderOf((module + 1) % modules)}/file0.ts`;
  return `import { f1 } from '${used}';\n\n${functions.join('\n')}\nexport const x = f1(1, { a: '' });\n`;
}
