import assert from 'node:assert/strict';
import { test } from 'vitest';
import { silent } from '#core';
import { createManualClock } from '#helpers/clock';
import { createFixtureServers, until } from '#helpers/hub';
import {
  type ContainerUsage,
  createServerViews,
  createUsageViews,
} from '../../hub/dashboard/server-view.ts';

const usageOf = (cpuMs: number): ReadonlyMap<string, ContainerUsage> =>
  new Map([['echo', { memoryBytes: 1000, cpuMs }]]);

test('the CPU share is that between two readings, and unknown before the second and after a restart', async () => {
  await using servers = createFixtureServers([{ name: 'echo' }], { log: silent });
  const echo = servers.get('echo');
  await echo.ready();
  const clock = createManualClock();
  let now = usageOf(500);
  let changes = 0;
  const views = createUsageViews({ usages: { read: async () => now }, clock }, () => changes++);
  assert.equal(views.of(echo), undefined);
  await views.look();
  assert.deepEqual(views.of(echo), {
    memoryBytes: 1000,
    memoryLimitBytes: 512 * 2 ** 20,
    cpuShare: undefined,
  });

  clock.advance(10_000);
  // The engine has not measured again, so this reading equals the last one.
  await views.look();
  now = usageOf(3_000);
  await views.look();
  assert.equal(views.of(echo)?.cpuShare, 0.25);
  clock.advance(10_000);
  now = usageOf(100);
  await views.look();
  assert.equal(views.of(echo)?.cpuShare, undefined, 'it was started anew');
  assert.equal(changes, 3);
  await echo.stop(true);
  assert.equal(views.of(echo), undefined);
});

test('a page waits for the engine only briefly', async () => {
  await using servers = createFixtureServers([{ name: 'echo' }], { log: silent });
  const clock = createManualClock();
  const never = new Promise<ReadonlyMap<string, ContainerUsage>>(() => {});
  const views = createUsageViews({ usages: { read: () => never }, clock }, () => {});
  let isOver = false;
  void views.look().then(() => (isOver = true));
  clock.advance(50);
  await until(() => isOver);
  assert.equal(views.of(servers.get('echo')), undefined);
});

test('of a listing, only the beginnings of the texts that its lists show are redacted', async () => {
  const long = { TOOLS: '3', WORDS: '20000' };
  const fixtures = [{ name: 'calendar' }, { name: 'many', file: 'many-tools.mjs', env: long }];
  await using servers = createFixtureServers(fixtures, { log: silent });
  const given: string[] = [];
  const redact = (text: string) => (given.push(text), text);
  const usages = { read: async () => usageOf(0) };
  const needs = { backend: 'process', clock: createManualClock(), redact, usages } as const;
  const views = createServerViews(needs, () => {});
  for (const name of ['calendar', 'many']) {
    const server = servers.get(name);
    await server.ready();
    given.length = 0;
    const { offers, config } = views.whole(server, 0, 'viewer');
    const texts = offers.tools.flatMap(({ title, description }) =>
      [title, description].filter(text => text !== undefined),
    );
    assert.ok(texts.length >= server.listing.tool.length);
    assert.deepEqual(
      given.filter(text => text !== '' && text !== config).toSorted(),
      texts.toSorted(),
    );
    for (const text of texts) assert.ok(text.length <= 4_000, `${text.length} characters`);
  }
});
