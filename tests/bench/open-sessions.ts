import { setTimeout as delay } from 'node:timers/promises';
import { openSession } from './load/over-http.ts';
import { startHub } from './subjects/hub.ts';
import { serverFile } from './subjects/subjects.ts';
import { residentMb } from './usage.ts';

const sessions = 20;
const settleMs = 3_000;

/** Returns the resident memory of the hub that 20 open sessions add, in MB, each with its event stream open. */
export async function sessionMemory(): Promise<number | undefined> {
  await using hub = await startHub('agenthub-bench-sessions', {
    bench: { command: process.execPath, args: [serverFile], runtime: 'process', auto_start: true },
  });
  const url = `${hub.url}/mcp`;
  // The first sessions add memory once, for example compiled code, so they are not measured.
  await (await openSessions(url))[Symbol.asyncDispose]();
  await delay(settleMs);
  const before = residentMb(hub.pid);
  await using _opened = await openSessions(url);
  await delay(settleMs);
  const after = residentMb(hub.pid);
  return before === undefined || after === undefined ? undefined : after - before;
}

async function openSessions(url: string): Promise<AsyncDisposable> {
  const closing = new AbortController();
  const all: Readonly<Record<string, string>>[] = [];
  for (let index = 0; index < sessions; index++) {
    const headers = headersOf(await openSession(url));
    all.push(headers);
    const stream = await fetch(url, {
      headers: { ...headers, accept: 'text/event-stream' },
      signal: closing.signal,
    });
    if (stream.status !== 200) throw new Error(`the event stream: status ${stream.status}`);
  }
  return {
    async [Symbol.asyncDispose]() {
      closing.abort();
      for (const headers of all) await fetch(url, { method: 'DELETE', headers });
    },
  };
}

const headersOf = (lines: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    lines
      .trimEnd()
      .split('\r\n')
      .map(line => line.split(': ', 2)),
  );
