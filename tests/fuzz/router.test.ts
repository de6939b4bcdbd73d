import { expect, test, vi } from 'vitest';
import { createSecrets, openBystander } from './clients.ts';
import { type Hub, fuzz, openHub } from './hub.ts';
import { memoryInUse, replay, seed, share, uncaught } from './settings.ts';

const timeout = 300_000;
/** Longer than the hub keeps anything for a client that does not come back, in milliseconds. */
const forgottenMs = 60 * 60_000;
const maxGrowthBytes = 8 * 1024 * 1024;

test(
  'answers every request of clients once and to whoever asked, whatever they send',
  { timeout },
  async () => {
    const hub = await openHub();
    await using _ = hub.servers;
    await fuzz(hub, share(0.1), seed);
    hub.clock.advance(forgottenMs);
    const before = await memoryInUse();
    await fuzz(hub, share(0.5), seed + 1);
    hub.clock.advance(forgottenMs);
    const errors = hub.logged.filter(({ level }) => level === 'error');
    Reflect.set(hub.logged, 'length', 0);
    expect(errors, replay()).toEqual([]);
    expect(uncaught).toEqual([]);
    expect(hub.router.sessionCount, replay()).toBe(0);
    expect(hub.router.inFlight, replay()).toBe(0);
    expect(hub.clock.waiting, replay()).toBe(0);
    expect(hub.servers.all.map(({ status }) => status.state)).toEqual(Array(3).fill('running'));
    expect((await memoryInUse()) - before, replay()).toBeLessThan(maxGrowthBytes);
  },
);

test(
  'gives clients their own answers while their servers say what they should not',
  { timeout },
  async () => {
    const lies = share(0.2);
    const hub = await openHub({ seed, count: Math.ceil(lies / 2) });
    await using _ = hub.servers;
    const { router, servers, clock, logged } = hub;
    await fuzz(hub, share(0.02), seed);
    clock.advance(forgottenMs);
    const before = await memoryInUse();
    // Each server has its share of what is untrue, and tells it while it is asked.
    for (let round = 0; (await toldBy(hub)) < lies; round++)
      await fuzz(hub, share(0.02), seed + 2 + round);
    clock.advance(forgottenMs);
    for (const name of ['old', 'new']) {
      // The hub reads lists again by itself, in answer to which a server may still ask something.
      await vi.waitFor(async () => {
        const { asked, answered, twice } = await statsOf(hub, name);
        expect({ answered, twice }, replay()).toEqual({ answered: asked, twice: 0 });
      }, 10_000);
      const { stray, guesses } = await statsOf(hub, name);
      // Bytes that were broken may ask something, of which nobody knows that.
      expect(stray, replay()).toBeLessThanOrEqual(guesses);
    }
    const errors = logged.filter(({ level }) => level === 'error');
    Reflect.set(logged, 'length', 0);
    expect(errors, replay()).toEqual([]);
    expect(uncaught).toEqual([]);
    expect([router.sessionCount, router.inFlight, clock.waiting], replay()).toEqual([0, 0, 0]);
    expect(servers.all.map(({ status }) => status.state)).toEqual(Array(3).fill('running'));
    expect((await memoryInUse()) - before, replay()).toBeLessThan(maxGrowthBytes);
  },
);

type Stats = Readonly<
  Record<'lies' | 'asked' | 'answered' | 'twice' | 'stray' | 'guesses', number>
>;

async function statsOf(hub: Hub, name: string): Promise<Stats> {
  const client = openBystander(hub.router, hub.servers.get(name), '', createSecrets());
  await client.initialize();
  const answer = JSON.parse(await client.call('stats'));
  client.close();
  return JSON.parse(answer.result.content[0].text);
}

async function toldBy(hub: Hub): Promise<number> {
  const all = await Promise.all(['old', 'new'].map(name => statsOf(hub, name)));
  return all.reduce((sum, { lies }) => sum + lies, 0);
}
