import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { isObject } from '#core';
import { createManualClock } from '#helpers/clock';
import { type HubOptions, startHub, until } from '#helpers/hub';
import { openAsked } from '../asking.ts';
import { at, openModern, textOf } from '../modern.ts';

const startStateless = (options?: HubOptions) => startHub([{ name: 'stateless' }], options);

const messageOf = (answer: unknown) => String(at(answer, 'error', 'message'));

describe('a server of 2026 that only wants the call repeated', () => {
  test('is retried with growing delays, and the client gets the result', async () => {
    const clock = createManualClock();
    await using hub = await startStateless({ clock });
    const server = hub.server('stateless');
    const client = openAsked(hub, server);
    await client.initialize({});
    // Sends the pending announcements, whose timers would count below.
    clock.advance(1_000);
    const before = clock.waiting;
    const result = client.call('busy', { times: 3 });
    for (const pauseMs of [100, 200, 400]) {
      await until(() => clock.waiting > before && server.running?.upstream.inFlight() === 0);
      clock.advance(pauseMs - 1);
      assert.ok(clock.waiting > before, `it is asked before ${pauseMs} ms`);
      clock.advance(1);
    }
    assert.equal(await result, 'after 3');
    const [first, ...others] = [await client.call('heard')].flat();
    assert.deepEqual(first, ['_meta', 'arguments', 'name']);
    for (const members of others)
      assert.deepEqual(members, ['_meta', 'arguments', 'name', 'requestState']);
  });

  test('has increasing progress, although the server starts from 0 each time', async () => {
    await using hub = await startStateless();
    const client = openAsked(hub, hub.server('stateless'));
    await client.initialize({});
    const _meta = { progressToken: 'mine' };
    assert.equal(await client.call('busy', { times: 2 }, { _meta }), 'after 2');
    assert.deepEqual(
      client.told
        .filter(({ method }) => method === 'notifications/progress')
        .map(({ params }) => params),
      [
        [0, 2],
        [1, 2],
        [2, 2],
        [3, 4],
        [4, 4],
        [5, 6],
        [6, 6],
      ].map(([progress, total]) => ({ progressToken: 'mine', progress, total })),
    );
  });

  test('is given up after 20 times', async () => {
    const clock = createManualClock();
    await using hub = await startStateless({ clock });
    const client = openAsked(hub, hub.server('stateless'));
    await client.initialize({});
    let told: unknown;
    void client.call('busy', { times: 1_000 }).then(answer => (told = answer));
    await until(() => {
      clock.advance(5_000);
      return told !== undefined;
    });
    assert.match(messageOf(told), /stateless asked 20 times for more and gave no result/);
    assert.equal(at(told, 'error', 'data', 'code'), 'HUB_SERVER_PROTOCOL');
  });

  test('is not called again for a client that has cancelled', async () => {
    const clock = createManualClock();
    await using hub = await startStateless({ clock });
    const client = openAsked(hub, hub.server('stateless'));
    await client.initialize({});
    // Sends the pending announcements, whose timers would count below.
    clock.advance(1_000);
    const before = clock.waiting;
    const told = client.call('busy', { times: 3 });
    await until(() => clock.waiting > before);
    await client.notify('notifications/cancelled', { requestId: client.lastId() });
    assert.equal(at(await told, 'error', 'code'), -32800);
    assert.equal(clock.waiting, before);
  });

  test('and gives no input requests causes an error', async () => {
    await using hub = await startStateless();
    const client = openAsked(hub, hub.server('stateless'));
    await client.initialize({});
    assert.match(messageOf(await client.call('vague')), /without naming an input/);
  });

  test('and requests methods of servers causes an error, without a request to the client', async () => {
    await using hub = await startStateless();
    const client = openAsked(hub, hub.server('stateless'), () => ({ content: [] }));
    await client.initialize({});
    for (const method of ['tools/call', 'resources/read', 'initialize'])
      assert.match(
        messageOf(await client.call('misdirected', { method })),
        /which only servers answer/,
      );
    assert.deepEqual(client.asked, []);
  });
});

describe('a client of 2025 that cancels while a server of 2026 waits for its answer', () => {
  test('receives the cancellation as the reason, not a disconnect', async () => {
    await using hub = await startStateless();
    const client = openAsked(hub, hub.server('stateless'));
    await client.initialize({ roots: {} });
    const told = client.call('where');
    await until(() => client.asked.length > 0);
    await client.notify('notifications/cancelled', { requestId: client.lastId() });
    assert.equal(at(await told, 'error', 'data', 'code'), 'HUB_CALL_CANCELLED');
    assert.equal(client.told.at(-1)?.['method'], 'notifications/cancelled');
  });
});

describe('a client of 2025 with too many open requests of a server of 2026', () => {
  test('gets none of another call, and the hub survives their end', async () => {
    await using hub = await startStateless();
    const client = openAsked(hub, hub.server('stateless'));
    await client.initialize({ roots: {} });
    const waiting = [1, 2, 3].map(() => client.call('where', { times: 32 }));
    await until(() => client.asked.length === 96);
    const refused = await client.call('where', { times: 32 });
    assert.equal(at(refused, 'error', 'data', 'code'), 'HUB_INPUTS_FULL');
    const asked = client.asked.slice(96).map(({ id }) => id);
    const withdrawn = client.told
      .filter(({ method }) => method === 'notifications/cancelled')
      .map(message => at(message, 'params', 'requestId'));
    assert.deepEqual(withdrawn, asked);
    client.session.close('the client left');
    await Promise.all(waiting);
  });
});

describe('a resource that a server of 2026 lacks', () => {
  test("is refused with the code of the client's revision", async () => {
    await using hub = await startStateless();
    const uri = 'stateless://missing';
    for (const endpoint of [hub.server('stateless'), 'all'] as const) {
      const legacy = openAsked(hub, endpoint);
      await legacy.initialize({});
      const codeOf = async (client: Pick<typeof legacy, 'ask'>, asked: string) =>
        at(await client.ask('resources/read', { uri: asked }), 'error', 'code');
      assert.equal(await codeOf(legacy, uri), -32002);
      assert.equal(await codeOf(legacy, 'stateless://bad'), -32602, 'another fault is another');
      assert.equal(await codeOf(openModern(hub, endpoint), uri), -32602);
    }
  });

  test("is named in the hub's refusal if no other server has it either", async () => {
    await using hub = await startStateless();
    const answer = await openModern(hub, 'all').ask('resources/read', { uri: 'no://such' });
    assert.equal(at(answer, 'error', 'code'), -32602);
    assert.equal(at(answer, 'error', 'data', 'uri'), 'no://such');
  });
});

describe('a resource with the name of its server in front', () => {
  test('is answered under the requested URI, and others beside it under their own', async () => {
    await using hub = await startHub([{ name: 'stateless' }, { name: 'b', file: 'stateless.mjs' }]);
    const legacy = openAsked(hub, 'all');
    await legacy.initialize({});
    for (const client of [legacy, openModern(hub, 'all')]) {
      const uri = 'b+stateless://note';
      const contents = at(await client.ask('resources/read', { uri }), 'result', 'contents');
      assert.deepEqual(contents, [
        { uri, text: 'a' },
        { uri: 'stateless://beside', text: 'b' },
      ]);
      const missing = 'b+stateless://missing';
      const { error } = await client.ask('resources/read', { uri: missing });
      assert.equal(at(error, 'data', 'uri'), missing);
    }
  });
});

describe('the server information', () => {
  const said = {
    title: 'A Server',
    icons: [{ src: 'data:image/png;base64,AA==', mimeType: 'image/png', theme: 'dark' }],
    websiteUrl: 'https://example.com/',
    'x-vendor': { kept: [1, null] },
  };
  const env = { INFO: JSON.stringify(said) };

  test.for(['asker', 'stateless'])(
    'reaches clients of both eras with its icons and all else, from %s',
    async name => {
      await using hub = await startHub([{ name, env }]);
      const info = { name, version: '1.0.0', ...said };
      const initialized = await openAsked(hub, hub.server(name)).initialize({});
      assert.deepEqual(at(initialized, 'result', 'serverInfo'), info);
      const discovered = await openModern(hub, hub.server(name)).ask('server/discover');
      const meta = at(discovered, 'result', '_meta');
      assert.ok(isObject(meta));
      assert.deepEqual(meta['io.modelcontextprotocol/serverInfo'], info);
    },
  );
});

test('more completions than the hub makes at once are made in several rounds', async () => {
  const state = { open: 0, most: 0 };
  const sampling = {
    async answer() {
      state.most = Math.max(state.most, ++state.open);
      await new Promise(setImmediate);
      state.open--;
      return { role: 'assistant', content: { type: 'text', text: 'yes' }, model: 'm' };
    },
  };
  await using hub = await startHub([{ name: 'stateless', sampling: 'hub' }], { sampling });
  const server = hub.server('stateless');
  const legacy = openAsked(hub, server);
  await legacy.initialize({});
  assert.equal(await legacy.call('samples', { times: 50 }), 'got 50');
  assert.equal(state.most, 20);
  const { result } = await openModern(hub, server, {}).call('samples', { times: 50 });
  assert.equal(textOf(result), 'got 50');
});
