import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ownServerConfig } from '#config';
import { HubError, neverAborted } from '#core';
import type { Listing, Running } from '#servers';
import { createGrantedStart } from '../../../hub/agents/host/granted-servers.ts';
import { createManualClock } from '../../helpers/clock.ts';

const empty: Listing = { tool: [], prompt: [], resource: [], template: [] };
const listed: Listing = { ...empty, tool: [{ key: 'add', bytes: Buffer.from('{}') }] };

/** Creates a server, and records that it was started. `start` answers, fails or waits. */
function serverOf(
  name: string,
  started: string[],
  { listing = empty, start = Promise.resolve() }: { listing?: Listing; start?: Promise<void> } = {},
) {
  const launch = { runtime: 'process', logs: 'none' } as const;
  return {
    config: ownServerConfig(name, { launch }),
    listing,
    running: undefined,
    async ready(): Promise<Running> {
      started.push(name);
      await start;
      return notRunning();
    },
  };
}

function notRunning(): never {
  throw new HubError('HUB_SERVER_FAILED', 'the test has no instance');
}

test.each([
  { servers: ['memory'], tools: [], expected: ['memory'] },
  { servers: [], tools: ['memory_create_*'], expected: ['memory'] },
  { servers: [], tools: ['memory.create'], expected: ['memory'] },
  { servers: [], tools: ['*', 'mem*', 'memory*', 'memory2_*'], expected: [] },
  { servers: ['known'], tools: ['known_*'], expected: [] },
  { servers: [], tools: ['other_old_read', 'other-new_*'], expected: ['other_old'] },
  { servers: [], tools: ['other_o*'], expected: ['other'] },
])('grants of $servers and $tools start $expected', async ({ servers, tools, expected }) => {
  const started: string[] = [];
  const all = [
    serverOf('memory', started),
    serverOf('known', started, { listing: listed }),
    serverOf('other', started),
    serverOf('other_old', started),
  ];
  const startGranted = createGrantedStart(createManualClock());
  await startGranted({ servers, tools }, all, neverAborted);
  expect(started).toEqual(expected);
});

test('a server that does not answer delays the list of tools by 30 s at most', async () => {
  const started: string[] = [];
  const clock = createManualClock();
  const slow = serverOf('slow', started, { start: new Promise(() => {}) });
  const startGranted = createGrantedStart(clock);
  const begun = startGranted({ servers: ['slow'], tools: [] }, [slow], neverAborted);
  clock.advance(30_000);
  await begun;
  expect(started).toEqual(['slow']);
});

test('only the first list of tools waits for a server that takes longer than 30 s to start', async () => {
  const started: string[] = [];
  const clock = createManualClock();
  const startGranted = createGrantedStart(clock);
  const grants = { servers: ['slow', 'other'], tools: [] };
  const slow = serverOf('slow', started, { start: new Promise(() => {}) });
  const begun = startGranted(grants, [slow], neverAborted);
  clock.advance(30_000);
  await begun;
  await startGranted(grants, [slow], neverAborted);
  expect(started).toEqual(['slow', 'slow']);

  const start = Promise.withResolvers<void>();
  const other = serverOf('other', started, { start: start.promise });
  const waiting = startGranted(grants, [slow, other], neverAborted);
  expect(clock.waiting).toBe(1);
  start.resolve();
  await waiting;
});

test('a server whose slow start has failed is waited for when it starts again', async () => {
  const clock = createManualClock();
  const startGranted = createGrantedStart(clock);
  const grants = { servers: ['slow'], tools: [] };
  const starts = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  let start: Promise<void> = starts[0].promise;
  const slow = { ...serverOf('slow', []), ready: () => start.then(() => notRunning()) };
  const begun = startGranted(grants, [slow], neverAborted);
  clock.advance(30_000);
  await begun;
  starts[0].resolve();
  await setImmediate();

  start = starts[1].promise;
  const again = startGranted(grants, [slow], neverAborted);
  expect(clock.waiting).toBe(1);
  starts[1].resolve();
  await again;
});

test('a list of tools that is no longer wanted waits for no server', async () => {
  const slow = serverOf('slow', [], { start: new Promise(() => {}) });
  const turn = new AbortController();
  const grants = { servers: ['slow'], tools: [] };
  const startGranted = createGrantedStart(createManualClock());
  const begun = startGranted(grants, [slow], turn.signal);
  turn.abort(new Error('the turn is over'));
  await expect(begun).rejects.toThrow('the turn is over');
});
