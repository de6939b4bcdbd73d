import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { silent } from '#core';
import { startCpuTimer } from '#helpers/cpu-time';
import { caller } from '#helpers/principal';
import { startHub, until } from '#helpers/hub';
import type { Server } from '#servers';
import { type Subscriber, createSubscriptions } from '../../../hub/routing/events/subscriptions.ts';
import { openClient } from '../clients.ts';
import { at, openModern } from '../modern.ts';
import { createTestAccess } from '../test-access.ts';

const updated = 'notifications/resources/updated';
const whispers = (env: Record<string, string>) => [
  { name: 'first', file: 'whisper.mjs', env },
  { name: 'second', file: 'whisper.mjs', env },
];

describe('an update of a sub-resource', () => {
  for (const [era, env] of [
    ['2025', {}],
    ['2026', { ERA: 'modern' }],
  ] as const)
    test(`reaches subscribers of the parent, under the name that they know, at servers of ${era}`, async () => {
      await using hub = await startHub(whispers(env));
      const [direct, all] = [openClient(hub, hub.server('second')), openClient(hub)];
      for (const client of [direct, all]) await client.initialize();
      await direct.ask('resources/subscribe', { uri: 'whisper://one' });
      await all.ask('resources/subscribe', { uri: 'second+whisper://one' });
      const modern = openModern(hub, 'all');
      void modern.ask('subscriptions/listen', {
        notifications: { resourceSubscriptions: ['second+whisper://one'] },
      });
      await until(() => modern.told.length === 1);
      const urisOf = (told: readonly object[]) =>
        told
          .filter(message => at(message, 'method') === updated)
          .map(message => at(message, 'params', 'uri'));
      for (const uri of ['whisper://one/a', 'whisper://one?b', 'whisper://onerous', 'whisper://on'])
        await direct.call('touch', { uri });
      await until(() => urisOf(modern.told).length >= 2);
      assert.deepEqual(urisOf(direct.told), ['whisper://one/a', 'whisper://one?b']);
      const renamed = ['second+whisper://one/a', 'second+whisper://one?b'];
      assert.deepEqual(urisOf(all.told), renamed);
      assert.deepEqual(urisOf(modern.told), renamed);
    });
});

test('an update of a denied sub-resource reaches no client, although no server lists it', async () => {
  const servers = [{ name: 'first', file: 'whisper.mjs' }];
  const { access } = createTestAccess(servers, {
    policy: [{ resources: ['whisper://one/secret'], action: 'deny' }],
  });
  await using hub = await startHub(servers, { access });
  const clients = [openClient(hub, hub.server('first')), openClient(hub)];
  const [direct] = clients;
  for (const client of clients) {
    await client.initialize();
    await client.ask('resources/subscribe', { uri: 'whisper://one' });
  }
  for (const part of ['secret', 'public'])
    await direct?.call('touch', { uri: `whisper://one/${part}` });
  await until(() => clients.every(({ toldOf }) => toldOf(updated).length > 0));
  for (const { toldOf } of clients)
    assert.deepEqual(
      toldOf(updated).map(message => at(message, 'params', 'uri')),
      ['whisper://one/public'],
    );
});

test('a session cannot store more characters of URIs than the limit, even by concurrent requests', async () => {
  await using hub = await startHub([{ name: 'first', file: 'whisper.mjs' }]);
  const client = openClient(hub, hub.server('first'));
  await client.initialize();
  const uris = Array.from('abc', letter => `whisper://${letter.repeat(100_000)}`);
  const answers = await Promise.all(uris.map(uri => client.ask('resources/subscribe', { uri })));
  assert.deepEqual(
    answers.map(({ error }) => error.message),
    [
      '',
      '',
      '"params.uri" has 100010 characters, and this session could subscribe to 62124 more: the most is 262144. Unsubscribe from some resources, or open another session',
    ],
  );
  assert.equal(answers[2]?.error.data['code'], 'HUB_SUBSCRIPTIONS_FULL');
  await client.ask('resources/unsubscribe', { uri: uris[0] });
  const again = await client.ask('resources/subscribe', { uri: uris[2] });
  assert.equal(again.error.message, '');
});

test('a claim costs the same however many other subscribers wait for their servers', () => {
  const subscriptions = createSubscriptions({
    log: silent,
    publicUriOf: () => undefined,
    changed() {},
  });
  const newSubscriber = (): Subscriber => ({
    endpoint: 'all',
    principal: caller,
    send() {},
    isConnected: () => true,
  });
  const claimMs = (count: number) => {
    const timer = startCpuTimer();
    for (let one = 0; one < count; one++) subscriptions.claim(newSubscriber(), 'x://a');
    return timer();
  };
  const few = claimMs(1_000);
  const many = claimMs(20_000);
  assert.ok(many < 100 * few + 50, `${many} ms for 20 times as many as in ${few} ms`);
});

test('no subscription stays at a server after its only subscriber has aborted', async () => {
  await using hub = await startHub([{ name: 'echo', file: 'echo.mjs' }]);
  const client = openClient(hub, hub.server('echo'));
  await client.initialize();
  const uri = 'test://watched';
  assert.equal((await client.call('touch', { uri })).text, 'nobody subscribed');
  const subscribed = client.ask('resources/subscribe', { uri }, 'given up');
  // The request is sent in this turn of the event loop.
  await new Promise<void>(resolve => process.nextTick(resolve));
  await client.notify('notifications/cancelled', { requestId: 'given up' });
  assert.equal((await subscribed).error.data['code'], 'HUB_CALL_CANCELLED');
  assert.equal((await client.call('touch', { uri })).text, 'nobody subscribed');
});

for (const env of [{}, { ERA: 'modern' }])
  test(`a subscription is restored when its removed server is added again: ${JSON.stringify(env)}`, async () => {
    const naming = { separator: '_', maxLength: 46 } as const;
    await using hub = await startHub(whispers(env));
    const client = openClient(hub);
    await client.initialize();
    await client.ask('resources/subscribe', { uri: 'second+whisper://one' });
    const [first, second] = [hub.server('first').config, hub.server('second').config];
    await hub.servers.apply({ servers: [first], naming });
    assert.deepEqual(client.session.save()?.subscriptions.length, 1);
    await hub.servers.apply({ servers: [first, second], naming });
    await until(() => hub.server('second').status.state === 'running');
    await until(() => hub.server('second').listing.resource.length > 0);
    await client.call('second_touch', { uri: 'whisper://one' });
    await until(() => client.toldOf(updated).length > 0);
    assert.deepEqual(
      client.toldOf(updated).map(message => at(message, 'params', 'uri')),
      ['second+whisper://one'],
    );
  });

for (const env of [{}, { ERA: 'modern' }])
  test(`a subscription that ends while the server is removed is not restored: ${JSON.stringify(env)}`, async () => {
    const naming = { separator: '_', maxLength: 46 } as const;
    await using hub = await startHub(whispers(env));
    const client = openClient(hub);
    await client.initialize();
    const uri = 'second+whisper://one';
    await client.ask('resources/subscribe', { uri });
    const [first, second] = [hub.server('first').config, hub.server('second').config];
    await hub.servers.apply({ servers: [first], naming });
    assert.equal((await client.ask('resources/unsubscribe', { uri })).error.message, '');
    assert.deepEqual(client.session.save()?.subscriptions, []);
    await hub.servers.apply({ servers: [first, second], naming });
    await until(() => hub.server('second').listing.resource.length > 0);
    await client.call('second_touch', { uri: 'whisper://one' });
    await client.call('second_touch', { uri: 'whisper://one' });
    assert.deepEqual(client.toldOf(updated), []);
  });

describe('whom an update concerns', () => {
  /** Creates subscriptions at a server. `listed` maps URIs of its resources to those at the endpoint of all servers. */
  function scene(listed: Readonly<Record<string, string>> = {}) {
    const subscriptions = createSubscriptions({
      log: silent,
      publicUriOf: (_, uri) => listed[uri],
      changed() {},
    });
    const at = {} as const;
    // An object without members suffices: no method of the server is called.
    const server: Server = Object.assign(Object.create(null), at);
    const subscriber = (endpoint: Subscriber['endpoint']): Subscriber => ({
      endpoint,
      principal: caller,
      isConnected: () => true,
      send() {},
    });
    return {
      one: subscriber(server),
      all: subscriber('all'),
      add: (uri: string, who: Subscriber, publicUri = uri) =>
        subscriptions.add(server, uri, who, publicUri),
      concerned: (uri: string) => [...subscriptions.concernedBy(server, uri).values()],
    };
  }

  for (const [whole, part, concerns] of [
    ['x://a', 'x://a', true],
    ['x://a', 'x://a/b/c', true],
    ['x://a', 'x://a#b', true],
    ['x://a/', 'x://a/b', true],
    ['x://a/', 'x://a', false],
    ['x://', 'x://a', true],
    ['x://a?b', 'x://a', false],
    ['x://a', 'x://ab', false],
    ['x://a/b', 'x://a/c', false],
    ['x://a', `x://a/${'b'.repeat(2_043)}`, false],
    ['x://a', `x://a/${'b'.repeat(2_042)}`, true],
  ] as const)
    test(`${part.slice(0, 20)} ${concerns ? 'is sent' : 'is not sent'} to subscribers of ${whole}`, () => {
      const { one, add, concerned } = scene();
      add(whole, one);
      assert.deepEqual(concerned(part), concerns ? [part] : []);
    });

  test('with thousands of slashes finds its subscribers quickly', () => {
    const { one, add, concerned } = scene();
    add('x://a', one);
    const part = `x://a${'/'.repeat(2_043)}`;
    // CPU time of this process, so that other load on the machine does not count.
    const started = process.cpuUsage();
    for (let times = 0; times < 300; times++) assert.deepEqual(concerned(part), [part]);
    const { user, system } = process.cpuUsage(started);
    assert.ok((user + system) / 1_000 < 500);
  });

  test('reaches a subscriber once, under the name of the nearest subscribed parent', () => {
    const { all, add, concerned } = scene();
    add('x://a', all, 'p+x://a');
    add('x://a/b', all, 'q+x://a/b');
    assert.deepEqual(concerned('x://a/b'), ['q+x://a/b']);
    assert.deepEqual(concerned('x://a/b/c'), ['q+x://a/b/c']);
    assert.deepEqual(concerned('x://a/c'), ['p+x://a/c']);
  });

  test('has the listed name of the part, if that differs from the name of the parent', () => {
    const { one, all, add, concerned } = scene({ 'x://a/b': 's+x://a/b' });
    add('x://a', all);
    add('x://a', one);
    assert.deepEqual(concerned('x://a/b'), ['s+x://a/b', 'x://a/b']);
    assert.deepEqual(concerned('x://a/c'), ['x://a/c', 'x://a/c']);
  });
});
