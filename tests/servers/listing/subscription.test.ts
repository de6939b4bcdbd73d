import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError, silent } from '#core';
import { createManualClock } from '#helpers/clock';
import { createFixtureServers, until } from '#helpers/hub';
import { type Answer, type Notification, readMessage } from '#jsonrpc';
import type { Interest } from '#servers';
import { createSubscription } from '../../../hub/servers/listing/subscription.ts';

const mark = 'io.modelcontextprotocol/subscriptionId';
const none: Interest = { resources: [], tasks: [] };
const everything = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  extensions: { 'io.modelcontextprotocol/tasks': {} },
};

/** Waits until all answers so far are processed. */
const settled = () => new Promise(setImmediate);

function notificationOf(method: string, params: object): Notification {
  const message = readMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', method, params })));
  return message.kind === 'notification' ? message : assert.fail(message.kind);
}

function answerOf(body: object): Answer {
  const message = readMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...body })));
  return message.kind === 'answer' ? message : assert.fail(message.kind);
}

/** Creates a subscription to a server that the test scripts. */
function scene(capabilities: Readonly<Record<string, unknown>> = everything, interest = none) {
  const clock = createManualClock();
  const listens: {
    readonly id: number;
    readonly filter: unknown;
    readonly end: (answer: Answer) => void;
    readonly fail: (error: Error) => void;
    cancelled?: string;
  }[] = [];
  let isGone = false;
  let missed = 0;
  const subscription = createSubscription(
    { capabilities, interest },
    {
      listen(params) {
        if (isGone) throw new HubError('HUB_SERVER_DOWN', 'gone');
        const { promise, resolve, reject } = Promise.withResolvers<Answer>();
        const id = listens.length + 1;
        const filter: unknown = 'notifications' in params ? params.notifications : undefined;
        const listen: (typeof listens)[number] = { id, filter, end: resolve, fail: reject };
        listens.push(listen);
        return {
          id,
          over: promise,
          cancel(reason) {
            listen.cancelled = reason;
            reject(new HubError('HUB_CALL_CANCELLED', reason));
          },
        };
      },
    },
    { clock, random: () => 0, log: silent, missed: () => void missed++ },
  );
  return {
    clock,
    listens,
    subscription,
    hear: (method: string, params: object, id?: number) =>
      subscription.unwrap(
        notificationOf(method, id === undefined ? params : { ...params, _meta: { [mark]: id } }),
      ),
    acknowledge: (id: number) =>
      subscription.unwrap(
        notificationOf('notifications/subscriptions/acknowledged', { _meta: { [mark]: id } }),
      ),
    goAway: () => (isGone = true),
    missed: () => missed,
  };
}

describe('a subscription', () => {
  test('listens to the lists that the server announces', () => {
    const { listens } = scene({
      tools: { listChanged: true },
      prompts: { listChanged: false },
      resources: {},
    });
    assert.deepEqual(
      listens.map(({ filter }) => filter),
      [{ toolsListChanged: true }],
    );
    assert.equal(scene({ tools: {} }).listens.length, 0, 'nothing to hear is not listened to');
  });

  test('listens to the notifications that clients request and the server supports', () => {
    const interest = { resources: ['b', 'a'], tasks: ['t'] };
    assert.deepEqual(scene(everything, interest).listens[0]?.filter, {
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions: ['a', 'b'],
      taskIds: ['t'],
    });
    assert.deepEqual(scene({ resources: {} }, interest).listens, []);
  });

  test('removes its subscription id from notifications, and changes nothing else', () => {
    const { hear, acknowledge, subscription } = scene();
    assert.equal(acknowledge(1), undefined);
    const heard = hear('notifications/resources/updated', { uri: 'x' }, 1);
    assert.equal(
      heard?.bytes.toString(),
      '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x","_meta":{}}}',
    );
    const more = notificationOf('x', { _meta: { a: [1], [mark]: 1, 'b"': 'c' } });
    assert.equal(
      subscription.unwrap(more)?.bytes.toString(),
      '{"jsonrpc":"2.0","method":"x","params":{"_meta":{"a":[1],"b\\"":"c"}}}',
    );
    const unmarked = notificationOf('notifications/message', { level: 'info' });
    assert.equal(subscription.unwrap(unmarked), unmarked);
  });

  test('that is changed is replaced when the new one is acknowledged, without duplicate notifications', async () => {
    const { hear, acknowledge, listens, subscription } = scene();
    acknowledge(1);
    subscription.want({ resources: ['x'], tasks: [] });
    assert.equal(listens.length, 2);
    assert.equal(listens[0]?.cancelled, undefined);
    assert.ok(hear('notifications/resources/updated', { uri: 'x' }, 1), 'the old one is heard');
    acknowledge(2);
    assert.match(listens[0]?.cancelled ?? '', /taken its place/);
    assert.ok(hear('notifications/resources/updated', { uri: 'x' }, 2));
    assert.equal(hear('notifications/resources/updated', { uri: 'x' }, 1), undefined);
    await settled();
    assert.equal(listens.length, 2);
  });

  test('that is changed several times meanwhile opens one more for all changes', () => {
    const { acknowledge, listens, subscription } = scene();
    for (const uri of ['a', 'b', 'c']) subscription.want({ resources: [uri], tasks: [] });
    assert.equal(listens.length, 1);
    acknowledge(1);
    assert.equal(listens.length, 2);
    acknowledge(2);
    subscription.want({ resources: ['c'], tasks: [] });
    assert.equal(listens.length, 2, 'what is open already is not opened again');
    assert.deepEqual(Object(listens[1]?.filter).resourceSubscriptions, ['c']);
  });

  test('without an acknowledgement still delivers notifications', () => {
    const { clock, hear, listens, subscription } = scene();
    assert.ok(hear('notifications/tools/list_changed', {}, 1));
    subscription.want({ resources: ['x'], tasks: [] });
    clock.advance(9_999);
    assert.equal(listens[0]?.cancelled, undefined);
    clock.advance(1);
    assert.match(listens[0]?.cancelled ?? '', /taken its place/);
  });

  test('ends when there is nothing to listen to', () => {
    const { acknowledge, listens, subscription } = scene({ resources: { subscribe: true } });
    subscription.want({ resources: ['x'], tasks: [] });
    acknowledge(1);
    subscription.want(none);
    assert.match(listens[0]?.cancelled ?? '', /no client listens/);
    assert.equal(listens.length, 1);
  });

  test('that ends is reopened with growing delays, and missed changes are read', async () => {
    const { acknowledge, clock, listens, missed } = scene();
    acknowledge(1);
    assert.equal(missed(), 0);
    listens[0]?.end(answerOf({ result: {} }));
    await settled();
    clock.advance(499);
    assert.equal(listens.length, 1);
    clock.advance(1);
    assert.equal(listens.length, 2);
    listens[1]?.end(answerOf({ error: { code: -32603, message: 'no' } }));
    await settled();
    clock.advance(999);
    assert.equal(listens.length, 2);
    clock.advance(1);
    assert.equal(listens.length, 3);
    assert.equal(missed(), 0);
    acknowledge(3);
    assert.equal(missed(), 1);
  });

  test('that the server cancels has ended, and is not passed on', async () => {
    const { acknowledge, clock, hear, listens } = scene();
    acknowledge(1);
    assert.equal(hear('notifications/cancelled', { requestId: 1 }), undefined);
    await settled();
    clock.advance(500);
    assert.equal(listens.length, 2);
    assert.ok(hear('notifications/cancelled', { requestId: 77 }), 'another is none of its own');
  });

  test('is not retried at a server that does not support it', async () => {
    const { clock, listens, subscription } = scene();
    listens[0]?.end(answerOf({ error: { code: -32601, message: 'no such method' } }));
    await settled();
    clock.advance(3_600_000);
    subscription.want({ resources: ['x'], tasks: [] });
    assert.equal(listens.length, 1);
    assert.equal(clock.waiting, 0);
  });

  test('that is stopped leaves nothing, whether it was open or opening', async () => {
    for (const isEnded of [false, true]) {
      const { clock, goAway, listens, subscription } = scene();
      if (isEnded) listens[0]?.fail(new HubError('HUB_SERVER_DOWN', 'gone'));
      goAway();
      await settled();
      assert.equal(clock.waiting, 1);
      subscription.stop();
      assert.equal(clock.waiting, 0);
    }
  });
});

describe('a server of the stateless revision', () => {
  const modern = { name: 'modern', file: '../conformance/server.mjs', args: ['--era', '2026'] };
  const run = async (server: Awaited<ReturnType<typeof start>>['server'], name: string) => {
    const { upstream } = await server.ready();
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    await upstream.request('tools/call', { name, arguments: {}, _meta: meta }, 5_000);
  };

  async function start() {
    const servers = createFixtureServers([modern], { log: silent });
    const server = servers.get('modern');
    const heard: Notification[] = [];
    server.notified(notification => heard.push(notification));
    await server.ready();
    return { server, heard, [Symbol.asyncDispose]: () => servers.stopAll() };
  }

  test('sets the TTL of its lists, which are read again', async () => {
    await using scenery = await start();
    const { server } = scenery;
    const until = server.freshUntil('tool');
    assert.ok(until > performance.now() + 50_000 && until <= performance.now() + 60_000);
    assert.equal(server.scope('tool'), 'public');
    await Promise.all([server.refresh('tool'), server.refresh('tool')]);
    assert.ok(server.freshUntil('tool') >= until);
    await server.stop(false);
    await server.refresh('tool');
    assert.ok(server.listing.tool.length > 0, 'what it offered last stays known');
  });

  test('announces a changed list, which is read again', async () => {
    await using scenery = await start();
    const { server, heard } = scenery;
    const changed: string[] = [];
    server.listed(kind => changed.push(kind));
    await run(server, 'test_trigger_tool_change');
    await until(() => changed.includes('tool'));
    assert.deepEqual(heard, []);
  });

  test('sends updates of watched resources, once, also after a restart', async () => {
    await using scenery = await start();
    const { server, heard } = scenery;
    const updates = () => heard.map(({ bytes }) => bytes.toString());
    server.watch({ resources: ['test://watched-resource'], tasks: [] });
    server.watch({ resources: ['test://other', 'test://watched-resource'], tasks: [] });
    const update =
      '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"test://watched-resource","_meta":{}}}';
    for (const _ of ['first', 'after a restart']) {
      heard.length = 0;
      await until(() => {
        void run(server, 'test_trigger_resource_change');
        return heard.length > 0;
      });
      // Earlier updates may still arrive until the answer; after that, each trigger causes exactly one update.
      await run(server, 'test_trigger_tool_change');
      heard.length = 0;
      await run(server, 'test_trigger_resource_change');
      await until(() => heard.length > 0);
      await run(server, 'test_trigger_tool_change');
      assert.deepEqual(updates(), [update]);
      await server.stop(false);
      await server.ready();
    }
  });

  test('of an instance per session refreshes nothing and is not listened to', async () => {
    await using servers = createFixtureServers([{ name: 'echo' }], { log: silent });
    const server = servers.get('echo');
    await server.ready();
    server.watch({ resources: ['x'], tasks: [] });
    assert.equal(server.freshUntil('tool'), 0);
    assert.equal(server.scope('tool'), 'private');
    assert.equal(server.running?.upstream.inFlight(), 0);
  });
});

test('a filter that grows by thousands of resources is not sorted for each of them', () => {
  const { subscription, listens, acknowledge } = scene();
  const resources = Array.from(
    { length: 20_000 },
    (_, number) => `x://${(number * 7_919) % 20_000}`,
  );
  // CPU time of this process, so that other load on the machine does not count.
  const started = process.cpuUsage();
  for (let times = 0; times < 1_000; times++) subscription.want({ resources, tasks: [] });
  const { user, system } = process.cpuUsage(started);
  assert.ok((user + system) / 1_000 < 1_000);
  acknowledge(1);
  assert.deepEqual(
    listens.map(({ filter }) => JSON.stringify(filter).split('x://').length - 1),
    [0, 20_000],
  );
});
