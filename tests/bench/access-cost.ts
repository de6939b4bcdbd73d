import { createHash, randomBytes } from 'node:crypto';
import type { Job } from './load/job.ts';
import { startLoad } from './load/load.ts';
import { median } from './median.ts';
import { pinApart } from './pin.ts';
import { type Figures, measure } from './relay-speed.ts';
import { startHub } from './subjects/hub.ts';
import { serverFile } from './subjects/subjects.ts';
import { descendantsOf } from './usage.ts';

const warmUpMs = 2_000;
/** The bounds of what access control may add. */
const allowedCpu = 0.08;
const allowedUs = 20;

/** Rules that match no call of the benchmark, so that all of them are read. */
const rules = Array.from({ length: 10 }, (_, index) => ({
  clients: [`client-${index}`, `other-${index}-*`],
  tools: [`*_delete_${index}*`],
  action: 'deny',
}));

/**
 * Compares a hub with named clients, ten policy rules and the audit log with one without them, which runs twice: what
 * these two differ is the control. All take turns in every round.
 */
export async function measureAccess({
  rounds,
  durationMs,
}: Pick<Job, 'durationMs'> & { readonly rounds: number }) {
  await using opened = new AsyncDisposableStack();
  const token = randomBytes(32).toString('base64url');
  const tokenDigest = createHash('sha256').update(token).digest('hex');
  const configs = [
    { config: { audit: { enabled: false } }, token: undefined },
    { config: { audit: { enabled: false } }, token: undefined },
    {
      config: {
        clients: { bench: { token: `sha256:${tokenDigest}` } },
        policy: rules,
        audit: { enabled: true },
      },
      token,
    },
  ];
  const entry = { command: process.execPath, args: [serverFile], runtime: 'process' };
  const servers = { bench: { ...entry, auto_start: true } };
  const subjects = await Promise.all(
    configs.map(async ({ config, token: sent }, index) => {
      const hub = opened.use(await startHub(`agenthub-bench-p${index}`, servers, { config }));
      const target = { kind: 'mcp', url: `${hub.url}/mcp`, tool: 'bench_fill' } as const;
      const load = await startLoad(sent === undefined ? target : { ...target, token: sent });
      return { pid: hub.pid, load: opened.use(load) };
    }),
  );
  const relaying = subjects.map(({ pid }) => pid);
  opened.use(
    pinApart(
      [...relaying, ...descendantsOf(relaying)],
      [process.pid, ...subjects.map(({ load }) => load.pid)],
    ),
  );
  const lines: string[] = [];
  let wrong = 0;
  for (const concurrency of [1, 32]) {
    const job: Job = { concurrency, bytes: 200, durationMs };
    for (const { load } of subjects) await load.run({ ...job, durationMs: warmUpMs });
    const seen: Figures[][] = [];
    for (let round = 0; round < rounds; round++) {
      const row = new Map<number, Figures>();
      for (const index of subjects.keys()) {
        const at = (index + round) % subjects.length;
        const subject = subjects[at];
        if (subject) row.set(at, await measure('process', subject, job));
      }
      seen.push([...subjects.keys()].flatMap(at => row.get(at) ?? []));
    }
    wrong += seen.flat().reduce((sum, one) => sum + one.wrong, 0);
    lines.push(
      cpuLine(
        concurrency,
        seen.map(row => row.map(({ cpuUs }) => cpuUs ?? NaN)),
      ),
      p50Line(
        concurrency,
        seen.map(row => row.map(({ p50Ms }) => p50Ms * 1000)),
      ),
    );
  }
  return { lines, wrong };
}

/** A value of each subject in one round: without access control, the same again, and with it. */
type Row = readonly number[];

function cpuLine(concurrency: number, rows: readonly Row[]): string {
  const added =
    median(rows.map(([off = NaN, again = NaN, on = NaN]) => on / ((off + again) / 2) - 1)) ?? NaN;
  const control = median(rows.map(([off = NaN, again = NaN]) => again / off - 1)) ?? NaN;
  const percent = (ratio: number) => `${(ratio * 100).toFixed(1)} %`;
  return `${added <= allowedCpu ? 'ok    ' : 'MISSED'} CPU per call, ${concurrency} at once, clients, ten rules and audit: +${percent(added)} (control ${percent(control)}, at most ${percent(allowedCpu)}); ${medians(rows, 'us')}`;
}

function p50Line(concurrency: number, rows: readonly Row[]): string {
  const added =
    median(rows.map(([off = NaN, again = NaN, on = NaN]) => on - (off + again) / 2)) ?? NaN;
  const control = median(rows.map(([off = NaN, again = NaN]) => again - off)) ?? NaN;
  // The bound is for a call alone.
  const verdict = concurrency > 1 ? '      ' : added <= allowedUs ? 'ok    ' : 'MISSED';
  return `${verdict} p50, ${concurrency} at once: +${added.toFixed(1)} us (control ${control.toFixed(1)} us${concurrency > 1 ? '' : `, at most ${allowedUs} us`}); ${medians(rows, 'us')}`;
}

const medians = (rows: readonly Row[], unit: string): string =>
  [0, 1, 2]
    .map(at => `${(median(rows.map(row => row[at] ?? NaN)) ?? NaN).toFixed(0)} ${unit}`)
    .join(', ');
