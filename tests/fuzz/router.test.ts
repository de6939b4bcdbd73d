import { expect, test, vi } from 'vitest';
import { until } from '#helpers/hub';
import { memoryInUse } from '#helpers/memory';
import { createSecrets, openBystander } from './clients.ts';
import { type Hub, fuzz, openHub } from './hub.ts';
import { ofServers, replay, seed, share, uncaught } from './settings.ts';
import { type Told, toldIn } from './told.ts';

const timeout = 300_000;
/** Time in ms that is longer than any timeout of the hub for clients that do not come back. */
const forgottenMs = 60 * 60_000;
const maxGrowthBytes = 8 * 1024 * 1024;

test(
  'answers every request of clients once, to its sender, whatever they send',
  { timeout },
  async () => {
    const hub = await openHub();
    await using _ = hub.servers;
    await fuzz(hub, share(0.1), seed);
    hub.clock.advance(forgottenMs);
    const before = await memoryInUse();
    await fuzz(hub, share(0.4), seed + 1);
    await forgotten(hub);
    const errors = hub.logged.filter(({ level }) => level === 'error');
    Reflect.set(hub.logged, 'length', 0);
    expect(errors, replay()).toEqual([]);
    expect(uncaught).toEqual([]);
    expect(hub.servers.all.map(({ status }) => status.state)).toEqual(Array(3).fill('running'));
    expect((await memoryInUse()) - before, replay()).toBeLessThan(maxGrowthBytes);
  },
);

test(
  'gives clients their own answers while servers send invalid messages',
  { timeout },
  async () => {
    const lies = share(ofServers);
    const hub = await openHub({ seed, count: Math.ceil(lies / 2) });
    await using _ = hub.servers;
    const { servers, clock, logged } = hub;
    await fuzz(hub, share(0.05), seed);
    clock.advance(forgottenMs);
    const before = await memoryInUse();
    // Each server has a number of invalid messages to send, and sends them while it is called.
    for (let round = 0; (await toldBy(hub)) < lies; round++)
      await fuzz(hub, share(0.05), seed + 2 + round);
    clock.advance(forgottenMs);
    for (const name of ['old', 'new']) {
      // The hub itself reads lists again, and a server may answer that with a request.
      await vi.waitFor(async () => {
        clock.advance(forgottenMs);
        const { asked, answered, twice } = await statsOf(hub, name);
        expect({ answered, twice }, replay()).toEqual({ answered: asked, twice: 0 });
      }, 60_000);
      const { stray, guesses } = await statsOf(hub, name);
      // A corrupted message may still be a request, whose answer is stray but not a fault.
      expect(stray, replay()).toBeLessThanOrEqual(guesses);
    }
    await forgotten(hub);
    const errors = logged.filter(({ level }) => level === 'error');
    Reflect.set(logged, 'length', 0);
    expect(errors, replay()).toEqual([]);
    expect(uncaught).toEqual([]);
    expect(servers.all.map(({ status }) => status.state)).toEqual(Array(3).fill('running'));
    expect((await memoryInUse()) - before, replay()).toBeLessThan(maxGrowthBytes);
  },
);

/** Advances the clock until nothing is left. Some records outlive a dropped session for a while. */
async function forgotten({ router, clock }: Hub): Promise<void> {
  const counts = () => String([router.sessionCount, router.inFlight, clock.waiting]);
  await until(
    () => {
      clock.advance(forgottenMs);
      return counts() === '0,0,0';
    },
    () => `${counts()} sessions, calls, timers: ${replay()}`,
  );
}

async function statsOf(hub: Hub, name: string): Promise<Told> {
  const client = openBystander(hub.router, hub.servers.get(name), '', createSecrets());
  await client.initialize();
  const answer = await client.call('stats');
  client.close();
  return toldIn(answer);
}

async function toldBy(hub: Hub): Promise<number> {
  const all = await Promise.all(['old', 'new'].map(name => statsOf(hub, name)));
  return all.reduce((sum, { lies }) => sum + lies, 0);
}
