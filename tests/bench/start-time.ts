import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { requestText } from './load/job.ts';
import { openSession, postOnce } from './load/over-http.ts';
import { median } from './median.ts';
import { spawnHub } from './subjects/hub.ts';
import { serverFile } from './subjects/subjects.ts';

const pollMs = 3;
const giveUpMs = 30_000;

/**
 * From starting the hub to the answer of its first call, in ms, with one server as a child process. The
 * first start of all, which finds out what the server speaks, is not counted.
 */
export async function startTime(rounds: number): Promise<number | undefined> {
  const dataDir = await mkdtemp(join(tmpdir(), 'agenthub-bench-start-'));
  try {
    const root = process.cwd();
    await startOnce(dataDir, root);
    const seen: number[] = [];
    for (let round = 0; round < rounds; round++) seen.push(await startOnce(dataDir, root));
    return median(seen);
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** From starting the hub of a checkout to the answer of its first call, in ms. */
export async function startOnce(dataDir: string, root: string): Promise<number> {
  const servers = {
    bench: { command: process.execPath, args: [serverFile], runtime: 'process', auto_start: true },
  };
  await using hub = await spawnHub('agenthub-bench-start', servers, { dataDir, root });
  const url = `${hub.url}/mcp`;
  const begin = hub.spawnedAt;
  for (;;) {
    if (await firstCall(url)) return performance.now() - begin;
    if (performance.now() - begin > giveUpMs) throw new Error('the hub answers no call');
    await delay(pollMs);
  }
}

/** True once a call has its result; not yet listening and not yet knowing the tool are no results. */
async function firstCall(url: string): Promise<boolean> {
  try {
    const headers = await openSession(url);
    return (await postOnce(url, headers, requestText(1, 'bench_fill', 200))).includes('mark-1-');
  } catch {
    return false;
  }
}
