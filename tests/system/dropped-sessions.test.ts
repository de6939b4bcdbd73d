import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { expect, test } from 'vitest';
import { type ManualClock, createManualClock } from '#helpers/clock';
import { type TestHub, startHub, until } from '#helpers/hub';
import { byLength } from '#helpers/length';
import { activeResources, memoryInUse } from '#helpers/memory';
import {
  type Json,
  ask,
  call,
  initialize,
  many,
  posting,
  secretOf,
  whisper,
} from './isolated-clients.ts';

const timeout = 120_000;
const sessions = byLength({ short: 300, long: 1_000 });
/** Number of rounds with 20 sessions, each of which has a server process of its own. */
const rounds = byLength({ short: 2, long: 3 });

/** Opens a session with a GET stream and makes a call. `drop` closes all its connections without ending the session. */
async function openToDrop(hub: TestHub, path: string, tool: string, given: object) {
  const own = new Agent({ keepAlive: true });
  const url = `${hub.url}${path}`;
  const received: Json[] = [];
  const take = (message: Json) => void received.push(message);
  const post = (message: object, headers = {}) =>
    ask(
      url,
      { method: 'POST', headers: { ...posting, ...headers } },
      JSON.stringify(message),
      take,
      own,
    );
  const opened = await post(initialize);
  assert.equal(opened.statusCode, 200);
  const session = { 'mcp-session-id': String(opened.headers['mcp-session-id']) };
  await ask(url, { method: 'GET', headers: { ...posting, ...session } }, '', take, own);
  await post(call(1, tool, given), session);
  await until(() => received.some(({ id }) => id === 1));
  return {
    text: JSON.stringify(received),
    /** Starts another call, whose answer is ignored. */
    begin: (name: string, more: object) =>
      void post(call(2, name, more), session).catch(() => undefined),
    drop: () => own.destroy(),
  };
}

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** Advances the clock until the hub has dropped all sessions. Fails unless nothing of them is left. */
async function forgotten(hub: TestHub, clock: ManualClock): Promise<void> {
  await until(
    () => {
      clock.advance(5_000);
      return hub.streamable.sessionCount === 0;
    },
    () => hub.streamable.sessionCount,
    60_000,
  );
  const left = () => [
    hub.router.inFlight,
    hub.router.sessionCount,
    hub.connections.size,
    clock.waiting,
  ];
  await until(
    () => left().every(count => count === 0),
    () => `calls, sessions, connections, timers: ${left().join(', ')}`,
  );
}

const maxGrowthBytes = 4 * 1024 * 1024;

test(
  `${sessions} sessions that are dropped without a word leave nothing behind`,
  { timeout },
  async () => {
    const clock = createManualClock();
    await using hub = await startHub([{ ...whisper, name: 'whisper' }], { ...many, clock });
    async function openAndDrop(count: number): Promise<void> {
      for (let opened = 0; opened < count; opened += 20) {
        const clients = await Promise.all(
          Array.from({ length: 20 }, (_, index) => {
            const [path, prefix] = index % 2 === 0 ? ['/mcp/whisper', ''] : ['/mcp', 'whisper_'];
            return openToDrop(hub, path, `${prefix}echo`, { secret: secretOf(opened + index) });
          }),
        );
        // One client disconnects while its call is running.
        clients[0]?.begin('slow', { secret: secretOf(opened), ms: 100 });
        await until(() => hub.router.inFlight > 0);
        for (const client of clients) client.drop();
      }
      await forgotten(hub, clock);
    }
    await openAndDrop(200);
    const memory = await memoryInUse();
    const resources = activeResources();
    await openAndDrop(sessions);
    await until(
      () => (activeResources()['TCPSocketWrap'] ?? 0) <= (resources['TCPSocketWrap'] ?? 0),
    );
    await until(() => (activeResources()['Timeout'] ?? 0) <= (resources['Timeout'] ?? 0) + 1);
    expect((await memoryInUse()) - memory).toBeLessThan(maxGrowthBytes);
  },
);

test(
  'the servers of sessions that are dropped end with them, whatever they were at',
  { timeout },
  async () => {
    const clock = createManualClock();
    await using hub = await startHub(
      [{ ...whisper, name: 'whisper', instance: 'session', maxInstances: 20 }],
      { ...many, clock },
    );
    const pids: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const clients = await Promise.all(
        Array.from({ length: 20 }, (_, number) =>
          openToDrop(hub, '/mcp/whisper', 'pid', { secret: secretOf(number) }),
        ),
      );
      for (const { text } of clients) pids.push(Number(/"text":"(\d+) /.exec(text)?.[1]));
      // Some clients disconnect while their server works, and some while it waits for their answer.
      for (const [index, client] of clients.slice(0, 10).entries())
        client.begin(index % 2 === 0 ? 'ask' : 'slow', { secret: secretOf(index), ms: 4_000 });
      await until(() => hub.router.inFlight === 10);
      for (const client of clients) client.drop();
      await forgotten(hub, clock);
      await until(() => hub.servers.instances.count(hub.server('whisper')) === 0);
    }
    expect(new Set(pids).size).toBe(rounds * 20);
    await until(() => !pids.some(isAlive));
  },
);
