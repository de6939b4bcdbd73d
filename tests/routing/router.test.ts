import assert from 'node:assert/strict';
import { describe, test, vi } from 'vitest';
import { isObject } from '#core';
import { createManualClock } from '#helpers/clock';
import { startHub, until } from '#helpers/hub';
import type { Server } from '#servers';
import { namesIn, openClient } from './clients.ts';

const twoEchoes = [
  { name: 'first', file: 'echo.mjs' },
  { name: 'second', file: 'echo.mjs' },
];

describe('the endpoint of all servers', () => {
  test('returns the information of the hub, in the revision of the client or the newest', async () => {
    await using hub = await startHub([]);
    for (const [asked, agreed] of [
      ['2025-11-25', '2025-11-25'],
      ['2025-06-18', '2025-06-18'],
      ['2025-03-26', '2025-03-26'],
      ['2024-11-05', '2024-11-05'],
      ['2099-01-01', '2025-11-25'],
    ] as const) {
      const { result } = await openClient(hub).initialize(asked);
      assert.equal(result['protocolVersion'], agreed);
      assert.deepEqual(result['serverInfo'], {
        name: 'agenthub',
        title: 'AgentHub',
        version: '0.0.0-test',
      });
      assert.deepEqual(result['capabilities'], {
        completions: {},
        logging: {},
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
        tools: { listChanged: true },
      });
    }
    const client = openClient(hub);
    assert.equal((await client.ask('initialize', {})).error.code, -32602);
    assert.equal(client.session.protocolVersion, undefined);
    await client.initialize();
    assert.match((await client.initialize()).error.message, /initialized already/);
  });

  test('lists the tools and prompts of all servers under unique names, and calls them by those', async () => {
    await using hub = await startHub(twoEchoes);
    const client = openClient(hub);
    const names = namesIn((await client.ask('tools/list')).result['tools']);
    assert.ok(names.includes('first_echo') && names.includes('second_echo'));
    assert.equal(new Set(names).size, names.length);
    const prompts = namesIn((await client.ask('prompts/list')).result['prompts']);
    assert.deepEqual(prompts, ['first_greet', 'first_review', 'second_greet', 'second_review']);
    const pids = await Promise.all([client.call('first_pid'), client.call('second_pid')]);
    for (const [at, server] of hub.servers.all.entries())
      assert.equal(pids[at]?.text, JSON.stringify(server.running?.instance.about['pid']));
    const prompt = await client.ask('prompts/get', {
      name: 'second_greet',
      arguments: { name: 'Ada' },
    });
    assert.match(JSON.stringify(prompt.result), /Greet Ada warmly/);
  });

  test('lists resources under their URIs; a URI that an earlier server has gets a prefix', async () => {
    await using hub = await startHub(twoEchoes);
    const client = openClient(hub);
    const uris = namesIn((await client.ask('resources/list')).result['resources'], 'uri');
    assert.deepEqual(uris, [
      'hub://servers',
      'echo://greeting',
      'echo://picture',
      'second+echo://greeting',
      'second+echo://picture',
    ]);
    const templates = await client.ask('resources/templates/list');
    assert.deepEqual(namesIn(templates.result['resourceTemplates'], 'uriTemplate'), [
      'echo://note/{name}',
      'second+echo://note/{name}',
    ]);
    for (const uri of [
      'echo://greeting',
      'second+echo://greeting',
      'echo://note/x',
      'second+echo://note/x',
    ]) {
      const { contents } = (await client.ask('resources/read', { uri })).result;
      assert.deepEqual(namesIn(contents, 'uri'), [uri], 'the URI that was asked for');
    }
    assert.equal(hub.router.collisions().length, 3);
    assert.ok(hub.logged.some(({ message }) => /offer the same names/.test(message)));
  });

  test('reads hub://servers as a snapshot without secrets', async () => {
    await using hub = await startHub([{ name: 'echo', env: { TOKEN: 'hunter2' } }]);
    const { result } = await openClient(hub).ask('resources/read', { uri: 'hub://servers' });
    const [content] = Array.isArray(result['contents']) ? result['contents'] : [];
    const snapshot = JSON.parse(isObject(content) ? String(content['text']) : '');
    assert.equal(snapshot.servers[0].name, 'echo');
    assert.equal(snapshot.servers[0].state, 'running');
    assert.ok(!JSON.stringify(snapshot).includes('hunter2'));
  });

  test('completes arguments of prompts and of templates', async () => {
    await using hub = await startHub(twoEchoes);
    const client = openClient(hub);
    const complete = async (ref: object) =>
      (await client.ask('completion/complete', { ref, argument: { name: 'x', value: 'a' } }))
        .result;
    assert.match(
      JSON.stringify(await complete({ type: 'ref/prompt', name: 'second_greet' })),
      /\["Ada","Alan"\]/,
    );
    assert.match(
      JSON.stringify(await complete({ type: 'ref/resource', uri: 'second+echo://note/{name}' })),
      /\["Ada","Alan"\]/,
    );
  });

  const refusals: readonly (readonly [string, object | undefined, number, RegExp])[] = [
    ['no/such', {}, -32601, /no method "no\/such"/],
    ['tools/call', {}, -32602, /"params.name" must be a string/],
    ['tools/call', undefined, -32602, /"params.name" must be a string/],
    ['tools/call', { name: 5 }, -32602, /"params.name" must be a string/],
    ['tools/call', { name: 'echo' }, -32602, /no tool is called "echo"/],
    ['tools/call', { name: '__proto__' }, -32602, /no tool is called/],
    ['prompts/get', { name: 'nobody_x' }, -32602, /no prompt is called/],
    ['resources/read', { uri: 'echo://none' }, -32002, /no server lists the resource/],
    ['resources/read', {}, -32602, /"params.uri" must be a string/],
    ['tools/list', { cursor: 'nonsense' }, -32602, /is of no page/],
    ['tools/list', { cursor: 1 }, -32602, /"params.cursor" must be a string/],
    ['logging/setLevel', { level: 'loud' }, -32602, /"loud"; it must be one of debug/],
    ['completion/complete', {}, -32602, /"params.ref.type" must be a string/],
    ['completion/complete', { ref: { type: 'ref/x' } }, -32602, /must be ref\/prompt or/],
    ['completion/complete', { ref: { type: 'ref/resource', uri: 'x' } }, -32602, /no server has/],
  ];
  test('refuses unknown names with the code of the specification', async () => {
    await using hub = await startHub([{ name: 'one', file: 'echo.mjs' }]);
    const client = openClient(hub);
    for (const [method, params, code, message] of refusals) {
      const { error } = await client.ask(method, params);
      assert.equal(error.code, code, `${method} ${JSON.stringify(params)}: ${error.message}`);
      assert.match(error.message, message);
    }
  });

  test('refuses params with a duplicate member, wherever the hub reads them', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    for (const params of [
      '{"name":"echo_pid","name":"echo_crash"}',
      String.raw`{"name":"echo_pid","n\u0061me":"echo_crash"}`,
      '{"name":"echo_pid","_meta":{"progressToken":1,"progressToken":2}}',
    ]) {
      const { answer } = await openClient(hub).send(
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`,
      );
      assert.match(String(answer), /-32602.*stands twice/);
    }
    assert.equal(hub.server('echo').restarts, 0);
  });

  test.each(['all', 'echo'])(
    'refuses params with member names that servers could confuse, at %s',
    async at => {
      await using hub = await startHub([{ name: 'echo' }]);
      const client = openClient(hub, at === 'all' ? 'all' : hub.server('echo'));
      await client.initialize();
      for (const [method, params] of [
        ['tools/call', '{"name":"echo_pid","Name":"echo_crash"}'],
        ['tools/call', '{"NAME":"crash"}'],
        ['tools/call', '{"name":"pid","_meta":{"progressToken":1,"ProgressToken":2}}'],
        ['tools/call', '{"name":"pid","argument\u017f":{}}'],
        ['resources/read', '{"uri":"x://a","URI":"x://b"}'],
        ['completion/complete', '{"ref":{"type":"ref/prompt","name":"a","Name":"b"}}'],
      ] as const) {
        const { answer } = await client.send(
          `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`,
        );
        assert.match(String(answer), /-32602.*some servers take it for/, params);
      }
      assert.equal(hub.server('echo').restarts, 0);
    },
  );

  test('keeps answering for a server that is down, while others answer as before', async () => {
    await using hub = await startHub([
      { name: 'broken', file: 'exit-at-once.mjs', restart: 'temporary' },
      { name: 'echo' },
      { name: 'never', file: 'never-ready.mjs', autoStart: false },
    ]);
    const client = openClient(hub);
    assert.equal((await client.call('echo_echo', { text: 'well' })).text, 'well');
    const one = openClient(hub, hub.server('broken'));
    const { error } = await one.ask('tools/list');
    assert.equal(error.data['code'], 'HUB_SERVER_FAILED');
    assert.equal(error.data['server'], 'broken');
  });
});

describe('the endpoint of one server', () => {
  test('passes on its names, its information and methods unknown to the hub', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const client = openClient(hub, hub.server('echo'));
    const { result } = await client.initialize('2025-06-18');
    assert.deepEqual(result['serverInfo'], { name: 'echo', version: '1.0.0' });
    assert.equal(result['protocolVersion'], '2025-06-18');
    assert.ok(namesIn((await client.ask('tools/list')).result['tools']).includes('echo'));
    assert.equal((await client.call('echo', { text: 'x' })).text, 'x');
    const { error } = await client.ask('vendor/method', { a: 1 });
    assert.equal(error.code, -32601);
    assert.equal(error.message, 'no such method: vendor/method');
  });

  test('opens no session if the server cannot be initialized', async () => {
    await using hub = await startHub([
      { name: 'broken', file: 'exit-at-once.mjs', restart: 'temporary' },
    ]);
    const client = openClient(hub, hub.server('broken'));
    const { error } = await client.initialize();
    assert.equal(error.data['code'], 'HUB_SERVER_FAILED');
    assert.equal(client.session.protocolVersion, undefined);
  });
});

describe('changed lists', () => {
  test('reach initialized sessions of that server and of all servers, once for many changes', async () => {
    const clock = createManualClock();
    await using hub = await startHub(twoEchoes, { clock });
    const [all, first, second, fresh] = [
      openClient(hub),
      openClient(hub, hub.server('first')),
      openClient(hub, hub.server('second')),
      openClient(hub),
    ];
    for (const client of [all, first, second]) await client.initialize();
    clock.advance(1_000);
    for (const client of [all, first, second]) client.told.length = 0;
    for (let change = 0; change < 5; change++) await all.call('first_relist');
    await until(() => hub.server('first').listing.tool.some(({ key }) => key === 'extra-5'));
    clock.advance(1_000);
    const method = 'notifications/tools/list_changed';
    assert.deepEqual(all.told, [{ jsonrpc: '2.0', method }]);
    assert.deepEqual(first.told, [{ jsonrpc: '2.0', method }]);
    assert.deepEqual(second.told, []);
    assert.deepEqual(fresh.told, [], 'a session that is not initialized is told nothing');
    assert.ok(namesIn((await all.ask('tools/list')).result['tools']).includes('first_extra-5'));
    assert.equal((await all.call('first_extra-5')).text, 'extra-5');
  });

  test('that equal the earlier ones are not announced', async () => {
    const clock = createManualClock();
    await using hub = await startHub([{ name: 'echo' }], { clock });
    const client = openClient(hub);
    await client.initialize();
    clock.advance(1_000);
    client.told.length = 0;
    await hub.server('echo').stop(false);
    await hub.server('echo').ready();
    clock.advance(1_000);
    assert.deepEqual(client.told, []);
  });
});

describe('log messages', () => {
  test('of one client with calls in flight reach that client; of several they reach none', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const [ada, alan] = [openClient(hub), openClient(hub)];
    const alone = await ada.call('echo_log', { level: 'info', text: 'mine' });
    assert.equal(alone.related.length, 1);
    assert.deepEqual(
      [ada, alan].flatMap(client => client.toldOf('notifications/message')),
      [],
    );
    const slow = alan.call('echo_slow', { ms: 200 });
    const beside = await ada.call('echo_log', { level: 'info', text: 'whose?' });
    assert.deepEqual(beside.related, []);
    assert.deepEqual((await slow).related, []);
    assert.deepEqual(
      [ada, alan].flatMap(client => client.toldOf('notifications/message')),
      [],
    );
  });

  test('below the level of a session do not reach it; the server gets the lowest level', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const [quiet, loud] = [openClient(hub), openClient(hub)];
    await quiet.ask('logging/setLevel', { level: 'error' });
    assert.deepEqual((await quiet.call('echo_log', { level: 'info', text: 'x' })).related, []);
    await loud.ask('logging/setLevel', { level: 'debug' });
    assert.equal((await loud.call('echo_log', { level: 'debug', text: 'x' })).related.length, 1);
    assert.deepEqual((await quiet.call('echo_log', { level: 'info', text: 'x' })).related, []);
    assert.equal((await quiet.call('echo_log', { level: 'error', text: 'x' })).related.length, 1);
  });

  test('are requested again at that level when the server has been restarted', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const client = openClient(hub, hub.server('echo'));
    await client.ask('logging/setLevel', { level: 'warning' });
    await hub.server('echo').stop(false);
    await hub.server('echo').ready();
    await client.ask('ping');
    const { related } = await client.call('log', { level: 'info', text: 'x' });
    assert.deepEqual(related, []);
  });
});

describe('the level of a server', () => {
  /** Records the levels that the hub requests of a server, without sending the requests. */
  function levelsAsked(server: Server) {
    const { running } = server;
    if (!running) return assert.fail('it does not run');
    const asked: unknown[] = [];
    const spied = vi.spyOn(running.upstream, 'request').mockImplementation((method, params) => {
      asked.push(method === 'logging/setLevel' && params && 'level' in params && params.level);
      return new Promise(() => {});
    });
    return { asked, [Symbol.dispose]: () => spied.mockRestore() };
  }

  test('is reset to info when the last session that set one has left, and is not set twice', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const [quiet, loud, silent] = [openClient(hub), openClient(hub), openClient(hub)];
    using spy = levelsAsked(hub.server('echo'));
    silent.session.close('it never set one');
    await quiet.ask('logging/setLevel', { level: 'error' });
    await loud.ask('logging/setLevel', { level: 'debug' });
    await quiet.ask('logging/setLevel', { level: 'warning' });
    loud.session.close('over');
    quiet.session.close('over');
    assert.deepEqual(spy.asked, ['error', 'debug', 'warning', 'info']);
  });
});

describe('subscriptions', () => {
  test('are valid from the response on: an update right behind it is delivered', async () => {
    await using hub = await startHub([{ name: 'eager', file: 'eager.mjs' }]);
    for (const endpoint of ['all', hub.server('eager')] as const) {
      const client = openClient(hub, endpoint);
      await client.ask('resources/subscribe', { uri: 'eager://one' });
      assert.equal(client.toldOf('notifications/resources/updated').length, 1);
      client.session.close('over');
    }
  });

  test('of one session are limited, and there is room again after one ends', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const [greedy, other] = [openClient(hub), openClient(hub, hub.server('echo'))];
    for (const client of [greedy, other]) {
      const answers = await Promise.all(
        Array.from({ length: 1_005 }, (_, at) =>
          client.ask('resources/subscribe', { uri: `echo://note/${at}` }),
        ),
      );
      const refused = answers.filter(({ error }) => error.code !== undefined);
      assert.equal(refused.length, 5);
      assert.equal(refused[0]?.error.data['code'], 'HUB_SUBSCRIPTIONS_FULL');
      assert.match(refused[0]?.error.message ?? '', /subscribed to 1000 resources.*Unsubscribe/);
      await client.ask('resources/unsubscribe', { uri: 'echo://note/0' });
      const again = await client.ask('resources/subscribe', { uri: 'echo://note/1004' });
      assert.equal(again.error.code, undefined);
    }
  });

  test('bring updates under the URI of the subscriber, to subscribers only, until they end', async () => {
    await using hub = await startHub(twoEchoes);
    const [one, other, direct] = [
      openClient(hub),
      openClient(hub),
      openClient(hub, hub.server('second')),
    ];
    const method = 'notifications/resources/updated';
    await one.ask('resources/subscribe', { uri: 'second+echo://greeting' });
    await direct.ask('resources/subscribe', { uri: 'echo://greeting' });
    assert.equal((await other.call('second_touch', { uri: 'echo://greeting' })).text, 'told');
    assert.deepEqual(one.toldOf(method), [
      { jsonrpc: '2.0', method, params: { uri: 'second+echo://greeting' } },
    ]);
    assert.deepEqual(direct.toldOf(method), [
      { jsonrpc: '2.0', method, params: { uri: 'echo://greeting' } },
    ]);
    assert.deepEqual(other.toldOf(method), []);
    await one.ask('resources/unsubscribe', { uri: 'second+echo://greeting' });
    assert.equal((await other.call('second_touch', { uri: 'echo://greeting' })).text, 'told');
    assert.equal(one.toldOf(method).length, 1);
    assert.equal(direct.toldOf(method).length, 2);
    direct.session.close('over');
    await until(() => hub.server('second').running?.upstream.inFlight() === 0);
    const last = await other.call('second_touch', { uri: 'echo://greeting' });
    assert.equal(last.text, 'nobody subscribed', 'the last one to leave unsubscribes');
  });

  test('survive a restart of the server', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const client = openClient(hub);
    await client.ask('resources/subscribe', { uri: 'echo://greeting' });
    await client.call('echo_crash', { code: 1 });
    await until(
      () => hub.server('echo').restarts === 1 && hub.server('echo').running !== undefined,
    );
    assert.equal((await client.call('echo_touch', { uri: 'echo://greeting' })).text, 'told');
    assert.equal(client.toldOf('notifications/resources/updated').length, 1);
  });
});

describe('requests in flight', () => {
  test('with an id that is in use are refused, and the id is free again afterwards', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const client = openClient(hub);
    const slow = client.ask('tools/call', { name: 'echo_slow', arguments: { ms: 100 } }, 'same');
    const twice = await client.ask('tools/call', { name: 'echo_pid' }, 'same');
    assert.match(twice.error.message, /the id "same" is in use/);
    assert.equal((await slow).text, 'slept 100 ms');
    assert.ok((await client.ask('tools/call', { name: 'echo_pid' }, 'same')).text);
  });

  test('that are cancelled reach the server and are answered once', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const [client, other] = [openClient(hub), openClient(hub)];
    const slow = client.ask('tools/call', { name: 'echo_slow', arguments: { ms: 60_000 } }, 7);
    const others = other.ask('tools/call', { name: 'echo_slow', arguments: { ms: 300 } }, 7);
    await client.notify('notifications/cancelled', { requestId: 99 });
    await client.notify('notifications/cancelled', { requestId: '7' });
    await client.notify('notifications/cancelled', {});
    assert.equal(hub.server('echo').running?.upstream.inFlight(), 2);
    await client.notify('notifications/cancelled', { requestId: 7, reason: 'enough' });
    assert.equal((await slow).error.code, -32800);
    assert.equal((await others).text, 'slept 300 ms');
  });

  test('that are cancelled while their server starts are never sent', async () => {
    await using hub = await startHub([{ name: 'echo', autoStart: false }]);
    const client = openClient(hub, hub.server('echo'));
    const crash = client.ask('tools/call', { name: 'crash', arguments: { code: 1 } }, 'c');
    await client.notify('notifications/cancelled', { requestId: 'c' });
    assert.equal((await crash).error.code, -32800);
    await hub.server('echo').ready();
    assert.equal((await client.call('echo', { text: 'alive' })).text, 'alive');
    assert.equal(hub.server('echo').restarts, 0);
  });

  test('are cancelled when their session closes', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const client = openClient(hub);
    const slow = client.call('echo_slow', { ms: 60_000 });
    await until(() => hub.server('echo').running?.upstream.inFlight() === 1);
    client.session.close('gone');
    client.session.close('twice is harmless');
    assert.equal((await slow).error.code, -32800);
    assert.equal(hub.server('echo').running?.upstream.inFlight(), 0);
    assert.equal(hub.router.sessionCount, 0);
  });

  test('of 20 clients with the same ids and tokens never get the answer of another', async () => {
    await using hub = await startHub(twoEchoes);
    const clients = Array.from({ length: 20 }, () => openClient(hub));
    await Promise.all(
      clients.map(async (client, at) => {
        const server = at % 2 === 0 ? 'first' : 'second';
        for (let round = 0; round < 10; round++) {
          const text = `client ${at} round ${round}`;
          const [echoed, progressed] = await Promise.all([
            client.ask('tools/call', { name: `${server}_echo`, arguments: { text } }, `r${round}`),
            client.ask(
              'tools/call',
              {
                name: `${server}_progress`,
                arguments: { steps: 1 + (at % 3) },
                _meta: { progressToken: 'token' },
              },
              round,
            ),
          ]);
          assert.equal(echoed.text, text);
          assert.equal(progressed.text, `${1 + (at % 3)} steps`);
          assert.equal(progressed.related.length, 1 + (at % 3));
          for (const { params } of progressed.related)
            assert.equal(isObject(params) && params['progressToken'], 'token');
          assert.deepEqual(echoed.related, []);
        }
        assert.deepEqual(client.toldOf('notifications/progress'), []);
      }),
    );
  });
});

describe('a misbehaving server', () => {
  test('affects its own calls only, and its invalid messages reach no client', async () => {
    await using hub = await startHub([{ name: 'liar' }, { name: 'echo' }]);
    const client = openClient(hub);
    const slow = client.call('echo_slow', { ms: 300 });
    for (const tool of ['stranger', 'twice', 'asks', 'duplicate-id', 'batch', 'unknown-progress']) {
      const { text, related } = await client.call(`liar_${tool}`);
      assert.equal(text, 'the truth', tool);
      assert.deepEqual(
        related.filter(({ method }) => method !== 'notifications/message'),
        [],
        tool,
      );
    }
    assert.equal((await slow).text, 'slept 300 ms');
    assert.equal(hub.server('liar').running?.upstream.inFlight(), 0);
  });

  test('that speaks 2024-11-05 and answers in batches serves a current client', async () => {
    await using hub = await startHub([{ name: 'old' }]);
    const client = openClient(hub);
    await client.initialize('2025-11-25');
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, at) => client.call('old_echo', { text: `t${at}` })),
    );
    assert.deepEqual(
      answers.map(({ text }) => text),
      ['t0', 't1', 't2', 't3', 't4'],
    );
  });
});
