import assert from 'node:assert/strict';
import { expect, vi } from 'vitest';
import { type ManualClock, createManualClock } from '#helpers/clock';
import { type TestHub, startHub, until } from '#helpers/hub';
import { memoryInUse } from '#helpers/memory';
import { openBystander } from './bystander.ts';
import { createSecrets } from './clients.ts';
import { createGenerator } from './generate.ts';
import type { Speaker } from './params.ts';
import { ofServers, replay, seed, seedOf, share, uncaught } from './settings.ts';
import type { Told } from './told.ts';
import type { OpenWireClient, WireClient } from './wire-client.ts';

const maxGrowthBytes = 8 * 1024 * 1024;
const clientsAtOnce = 8;
/** How many messages a client sends before it leaves. */
const perClient = 400;
/** Of so many clients one leaves while it is being answered. */
const leavesEarly = 4;
/** Enough for all clients of a run, and for calls without a session, which count as one each. */
const maxSessions = 10_000;
/** Longer than the hub keeps anything for a client that does not come back, in milliseconds. */
const forgottenMs = 60 * 60_000;
/** How often servers that have not told all are asked more. */
const maxRounds = 20;
/** The time in milliseconds after which a server's question is given up. Shorter than the timeout of calls. */
const inputTimeoutMs = 15_000;
/** The time in milliseconds without an answer after which such questions are given up. Shorter than the patience of clients. */
const stallMs = 8_000;
const names = ['old', 'new'] as const;

type Place = { readonly hub: TestHub; readonly clock: ManualClock };

/** Clients of one kind, and of one era. */
type Kind = { readonly open: OpenWireClient; readonly era: Speaker['era'] };

/** Lets clients send `count` messages, which may be batches: several clients at a time, many in all. */
async function fuzz({ hub, clock }: Place, kind: Kind, count: number, ofSeed: number) {
  const secrets = createSecrets();
  const servers = [undefined, ...names];
  const most = Math.min(perClient, Math.ceil(count / clientsAtOnce));
  const clients = new Set<WireClient>();
  let left = count;
  let opened = 0;

  async function sendAll(): Promise<void> {
    while (left > 0) {
      const own = Math.min(left, most);
      left -= own;
      const number = opened++;
      const server = servers[number % servers.length];
      const prefix = server === undefined ? 'old_' : '';
      const speaker = { secret: secrets.create(), prefix, era: kind.era };
      const generator = createGenerator(seedOf(ofSeed, number));
      const check = (bytes: Buffer) => secrets.check(speaker.secret, bytes);
      const client = await kind.open(hub, server, { speaker, generator, check });
      clients.add(client);
      await client.send(own);
      await settled(client, clock);
      // What nobody reads any more is not counted.
      if (number % leavesEarly === 0) await client.send(own / 10);
      client.close();
      clients.delete(client);
      clock.advance(100);
    }
  }

  const watch = await openBystander(hub, 'old');
  let isOver = false;
  const watching = async () => {
    while (!isOver) await watch.echo();
  };
  const sending = Promise.all(Array.from({ length: clientsAtOnce }, sendAll));
  try {
    await Promise.all([watching(), sending.finally(() => (isOver = true))]);
    await watch.echo();
  } finally {
    // After a failure nobody is left whom the hub would wait for.
    for (const client of [watch, ...clients]) client.close();
  }
}

/**
 * Resolves when all requests of a client are answered. The hub cannot know which call of several a question of the old
 * server is about: a call waits while the client does not come back for another one that was asked instead.
 */
async function settled(client: WireClient, clock: ManualClock): Promise<void> {
  const timer = setInterval(() => clock.advance(inputTimeoutMs), stallMs);
  try {
    await client.settle();
  } finally {
    clearInterval(timer);
  }
}

/** What servers told until now. */
async function toldBy(hub: TestHub): Promise<readonly Told[]> {
  return await Promise.all(
    names.map(async name => {
      const bystander = await openBystander(hub, name);
      const told = await bystander.told();
      bystander.close();
      return told;
    }),
  );
}

/** Nobody is connected or being answered, and time has passed until nobody is remembered. */
async function forgotten({ hub, clock }: Place): Promise<void> {
  const { router, connections, streamable } = hub;
  const counts = () =>
    String([
      connections.size,
      streamable.sessionCount,
      router.sessionCount,
      router.inFlight,
      clock.waiting,
    ]);
  await until(
    () => {
      clock.advance(forgottenMs);
      return counts() === '0,0,0,0,0';
    },
    () => `${counts()} connections, HTTP sessions, sessions, calls, timers: ${replay()}`,
    30_000,
  );
}

/** Servers that put so many untrue messages between their own, one of each era. */
function fixtures(lies: number) {
  const env = (number: number) => ({
    LIES: `${seedOf(seed, number)}:${Math.ceil(lies / names.length)}`,
  });
  const whisper = { file: 'whisper.mjs', maxRestarts: 0, inputTimeoutMs } as const;
  return [
    { ...whisper, name: names[0], era: 'legacy', env: env(1) },
    { ...whisper, name: names[1], era: 'modern', env: { ERA: 'modern', ...env(2) } },
  ] as const;
}

/**
 * Lets clients of one kind and the servers behind the hub say a part `of` FUZZ_COUNT, which is anything
 * from right to garbage, and fails unless all are answered once, each by what is its own, nothing is
 * left over, and the hub's memory is what it was.
 */
export async function fuzzOver(kind: Kind, of: number): Promise<void> {
  const lies = share(of * ofServers);
  const count = share(of) - lies;
  const clock = createManualClock({ passingMs: 10 });
  const streamable = { idleMs: 60_000, maxSessions };
  await using hub = await startHub(fixtures(lies), { clock, streamable });
  const place = { hub, clock };
  const first = Math.round(count / 5);
  await fuzz(place, kind, first, seed);
  await forgotten(place);
  const before = await memoryInUse();
  await fuzz(place, kind, count - first, seed + 1);
  // Servers tell what is untrue while they are asked.
  for (
    let round = 0;
    (await toldBy(hub)).reduce((sum, told) => sum + told.lies, 0) < lies;
    round++
  ) {
    assert.ok(round < maxRounds, `the servers have not told all: ${replay()}`);
    await fuzz(place, kind, clientsAtOnce * 25, seed + 2 + round);
  }
  await forgotten(place);
  // The hub reads lists again by itself, in answer to which a server may still ask something.
  await vi.waitFor(async () => {
    clock.advance(forgottenMs);
    for (const { asked, answered, twice } of await toldBy(hub))
      expect({ answered, twice }, replay()).toEqual({ answered: asked, twice: 0 });
  }, 30_000);
  // Bytes that were broken may ask something, of which nobody knows that.
  for (const { stray, guesses } of await toldBy(hub))
    expect(stray, replay()).toBeLessThanOrEqual(guesses);
  await forgotten(place);
  const errors = hub.logged.filter(({ level }) => level === 'error');
  expect(errors, replay()).toEqual([]);
  Reflect.set(hub.logged, 'length', 0);
  expect(uncaught).toEqual([]);
  const states = hub.servers.all.map(({ status }) => status.state);
  expect(states, replay()).toEqual(['running', 'running']);
  expect((await memoryInUse()) - before, replay()).toBeLessThan(maxGrowthBytes);
}
