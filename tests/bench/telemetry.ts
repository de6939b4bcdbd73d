import { fileURLToPath } from 'node:url';
import { forkReady, freePort } from './child.ts';
import { startLoad } from './load/load.ts';
import type { Job } from './load/job.ts';
import { median } from './median.ts';
import { startHub } from './subjects/hub.ts';
import { serverFile } from './subjects/subjects.ts';
import { cpuMs } from './usage.ts';

const sink = fileURLToPath(new URL('subjects/otlp-sink.ts', import.meta.url));
const warmUpMs = 2_000;

/** Cost of traces and metrics over OTLP for the relay, as lines of text. */
type TelemetryFigures = { readonly lines: readonly string[]; readonly wrong: number };

/**
 * Compares hubs that send traces and metrics with one that sends nothing. All run all the time and take turns, so that
 * other load on the machine affects all of them.
 */
export async function measureTelemetry({
  rounds,
  durationMs,
}: {
  readonly rounds: number;
  readonly durationMs: number;
}): Promise<TelemetryFigures> {
  await using opened = new AsyncDisposableStack();
  const port = await freePort();
  opened.use(await forkReady(sink, [String(port)]));
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` };
  const kinds = {
    'nothing sent': {},
    'one trace of a hundred': {
      ...endpoint,
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.01',
    },
    'all traces': endpoint,
  };
  const entry = { command: process.execPath, args: [serverFile], runtime: 'process' };
  const subjects = await Promise.all(
    Object.entries(kinds).map(async ([name, settings], index) => {
      const servers = { bench: { ...entry, auto_start: true } };
      const hub = opened.use(await startHub(`agenthub-bench-t${index}`, servers, { settings }));
      const load = opened.use(
        await startLoad({ kind: 'mcp', url: `${hub.url}/mcp`, tool: 'bench_fill' }),
      );
      const speeds: number[] = [];
      const costs: number[] = [];
      return { name, hub, load, speeds, costs };
    }),
  );
  const job: Job = { concurrency: 32, bytes: 200, durationMs };
  let wrong = 0;
  for (const { load } of subjects) await load.run({ ...job, durationMs: warmUpMs });
  for (let round = 0; round < rounds; round++)
    for (const { hub, load, speeds, costs } of subjects) {
      const before = cpuMs(hub.pid);
      const seen = await load.run(job);
      const after = cpuMs(hub.pid);
      wrong += seen.wrong;
      speeds.push((seen.calls * 1000) / seen.elapsedMs);
      if (before !== undefined && after !== undefined)
        costs.push(((after - before) * 1000) / seen.calls);
    }
  const base = median(subjects[0]?.speeds ?? []) ?? 0;
  const lines = subjects.map(({ name, speeds, costs }) => {
    const speed = median(speeds) ?? 0;
    const cost = median(costs);
    const cpu = cost === undefined ? '' : `, ${cost.toFixed(0)} us of processor time a call`;
    return `OTLP at 32 calls at once, ${name}: ${speed.toFixed(0)} calls/s, x${(speed / base).toFixed(2)} of nothing sent${cpu}`;
  });
  return { lines, wrong };
}
