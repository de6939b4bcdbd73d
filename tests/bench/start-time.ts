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
 * Returns the time from starting the hub to the answer to its first call, in ms, with one server as a child process.
 * The first start, which detects the MCP revision of the server, is not measured.
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

/** Starts the hub of a checkout. Returns the time until the answer to its first call, in ms. */
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

/** True if a call returns its result. False if the hub does not listen yet, or does not know the tool yet. */
async function firstCall(url: string): Promise<boolean> {
  try {
    const headers = await openSession(url);
    return (await postOnce(url, headers, requestText(1, 'bench_fill', 200))).includes('mark-1-');
  } catch {
    return false;
  }
}
