import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { forkReady, freePort } from './child.ts';
import { startLoad } from './load/load.ts';
import { openSession, postOnce } from './load/over-http.ts';
import { listText } from './load/job.ts';
import { median } from './median.ts';
import { startHub } from './subjects/hub.ts';
import { serverFile } from './subjects/subjects.ts';

export type ListSpeed = {
  readonly bytes: number;
  readonly hubPerSecond: number;
  readonly staticPerSecond: number;
  readonly wrong: number;
};

const tools = 1_000;
const concurrency = 32;

/** Measures `tools/list` of 1,000 tools, against a bare HTTP server that has the same bytes ready. */
export async function measureList({
  rounds,
  durationMs,
}: {
  readonly rounds: number;
  readonly durationMs: number;
}): Promise<ListSpeed> {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-bench-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const hub = opened.use(
    await startHub('agenthub-bench-list', {
      bench: {
        command: process.execPath,
        args: [serverFile, String(tools)],
        runtime: 'process',
        auto_start: true,
      },
    }),
  );
  const url = `${hub.url}/mcp`;
  const reply = await postOnce(url, await openSession(url), listText(1));
  const answer = join(folder, 'list.json');
  await writeFile(answer, reply);
  const port = await freePort();
  const floorFile = fileURLToPath(new URL('subjects/floor.ts', import.meta.url));
  opened.use(await forkReady(floorFile, [String(port), answer]));

  const bytes = reply.length;
  const loads = [
    opened.use(await startLoad({ kind: 'list', url, bytes: bytes - 1 })),
    opened.use(await startLoad({ kind: 'http', url: `http://127.0.0.1:${port}/`, bytes })),
  ];
  const seen = loads.map((): number[] => []);
  let wrong = 0;
  for (let round = 0; round <= rounds; round++)
    for (const [index, load] of loads.entries()) {
      const outcome = await load.run({ concurrency, bytes, durationMs });
      wrong += outcome.wrong;
      if (round > 0) seen[index]?.push((outcome.calls * 1000) / outcome.elapsedMs);
    }
  const [hubPerSecond = 0, staticPerSecond = 0] = seen.map(all => median(all) ?? 0);
  return { bytes, hubPerSecond, staticPerSecond, wrong };
}
