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
/** Number of messages that a client sends before it leaves. */
const perClient = 400;
/** One in this number of clients leaves while it has unanswered requests. */
const leavesEarly = 4;
/** Enough for all clients of a run, and for calls without a session, each of which counts as one. */
const maxSessions = 10_000;
/** Time in ms that is longer than any timeout of the hub for clients that do not come back. */
const forgottenMs = 60 * 60_000;
/** Maximum number of additional rounds for servers that have invalid messages left. */
const maxRounds = 20;
/** Time in ms after which a server's request to a client is dropped. Shorter than the timeout of calls. */
const inputTimeoutMs = 15_000;
/** Time in ms without an answer after which such requests are dropped. Shorter than the time limit of clients. */
const stallMs = 8_000;
const names = ['old', 'new'] as const;

type Place = { readonly hub: TestHub; readonly clock: ManualClock };

/** A kind of client: its transport and its era. */
type Kind = { readonly open: OpenWireClient; readonly era: Speaker['era'] };

/** Sends `count` messages, which may be batches, from many clients, several at a time. */
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
      // After these messages the client leaves without reading the answers.
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
    // Close all clients also after a failure, so that the hub waits for none of them.
    for (const client of [watch, ...clients]) client.close();
  }
}

/**
 * Resolves when all requests of a client are answered. The hub cannot know to which of several calls a request of the
 * old server belongs: a call waits if its request was sent with another call, and the client does not continue that
 * call.
 */
async function settled(client: WireClient, clock: ManualClock): Promise<void> {
  const timer = setInterval(() => clock.advance(inputTimeoutMs), stallMs);
  try {
    await client.settle();
  } finally {
    clearInterval(timer);
  }
}

/** Returns the statistics of the servers so far. */
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

/** Advances the clock until the hub has no connections, sessions, calls and timers. */
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
    60_000,
  );
}

/** Returns a server of each era. They send this number of invalid messages between their own. */
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
 * Lets clients of one kind and the servers behind the hub send a part `of` FUZZ_COUNT messages, from valid to garbage.
 * Fails unless each request is answered once, with its own answer, nothing is left over, and the hub's memory does not
 * grow.
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
  // Servers send invalid messages only while they are called.
  for (
    let round = 0;
    (await toldBy(hub)).reduce((sum, told) => sum + told.lies, 0) < lies;
    round++
  ) {
    assert.ok(round < maxRounds, `the servers have not told all: ${replay()}`);
    await fuzz(place, kind, clientsAtOnce * 25, seed + 2 + round);
  }
  await forgotten(place);
  // The hub itself reads lists again, and a server may answer that with a request.
  await vi.waitFor(async () => {
    clock.advance(forgottenMs);
    for (const { asked, answered, twice } of await toldBy(hub))
      expect({ answered, twice }, replay()).toEqual({ answered: asked, twice: 0 });
  }, 60_000);
  // A corrupted message may still be a request, whose answer is stray but not a fault.
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
