import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { startHub, until } from '#helpers/hub';
import { createCatalog } from '../../hub/routing/catalog.ts';
import { namesIn, openClient } from './clients.ts';
import { createScriptedServer } from './scripted-server.ts';

describe('the catalog of all servers', () => {
  test('is the same in whatever order servers start', async () => {
    const fixtures = ['c', 'a', 'b'].map(name => ({ name, file: 'echo.mjs', autoStart: false }));
    const listed: unknown[] = [];
    for (const order of [
      ['c', 'a', 'b'],
      ['b', 'a', 'c'],
    ]) {
      await using hub = await startHub(fixtures);
      for (const name of order) await hub.server(name).ready();
      const client = openClient(hub);
      listed.push({
        tools: namesIn((await client.ask('tools/list')).result['tools']),
        resources: namesIn((await client.ask('resources/list')).result['resources'], 'uri'),
        collisions: hub.router.collisions(),
      });
    }
    assert.deepEqual(listed[0], listed[1]);
    assert.match(JSON.stringify(listed[0]), /"hub:\/\/servers","echo:\/\/greeting".*"a\+echo:/);
  });

  test('has pages that contain each item once', async () => {
    await using hub = await startHub([
      { name: 'one', file: 'many-tools.mjs', env: { TOOLS: '1500' } },
      { name: 'two', file: 'many-tools.mjs', env: { TOOLS: '700' } },
    ]);
    const client = openClient(hub);
    const names: string[] = [];
    let cursor: unknown;
    let pages = 0;
    do {
      const { result } = await client.ask('tools/list', cursor === undefined ? {} : { cursor });
      names.push(...namesIn(result['tools']));
      cursor = result['nextCursor'];
      pages++;
    } while (cursor !== undefined && pages < 10);
    assert.equal(pages, 3);
    assert.equal(names.length, 2_200);
    assert.equal(new Set(names).size, 2_200);
  });

  test('has each name of a server once, even if the server repeats it ten thousand times', () => {
    const repeated = Array.from({ length: 10_000 }, () => ({
      key: 'x:a',
      bytes: Buffer.from('{"uri":"x:a","name":"a"}'),
    }));
    const items = { tool: repeated, resource: repeated };
    const { server } = createScriptedServer({ name: 'noisy' }, { items });
    const changed = () => ({ [Symbol.dispose]() {} });
    const naming = { separator: '_', maxLength: 46 } as const;
    // CPU time of this process, so that other load on the machine does not count.
    const started = process.cpuUsage();
    using catalog = createCatalog({ all: [server], changed }, () => naming);
    const { user, system } = process.cpuUsage(started);
    assert.equal(catalog.list('tool').length, 1);
    assert.deepEqual(
      catalog.list('resource').map(({ publicName }) => publicName),
      ['x:a'],
    );
    assert.ok((user + system) / 1_000 < 1_000);
  });

  test('keeps the items of a server that is down, and a call starts the server again', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    await hub.server('echo').stop(false);
    const client = openClient(hub);
    assert.ok(namesIn((await client.ask('tools/list')).result['tools']).includes('echo_echo'));
    assert.equal((await client.call('echo_echo', { text: 'back' })).text, 'back');
  });
});

describe('one server of several', () => {
  test('with a response above the limit fails that call only; its other calls and other servers continue', async () => {
    await using hub = await startHub([
      { name: 'small', file: 'echo.mjs', maxLineBytes: 100_000 },
      { name: 'last', file: 'echo.mjs', maxLineBytes: 100_000, env: { ID_LAST: '1' } },
      { name: 'echo' },
    ]);
    const client = openClient(hub);
    const beside = Promise.all([
      client.call('small_slow', { ms: 200 }),
      client.call('last_slow', { ms: 200 }),
      client.call('echo_slow', { ms: 200 }),
    ]);
    for (const server of ['small', 'last']) {
      const { error } = await client.call(`${server}_huge`, { bytes: 2_000_000 });
      assert.equal(error.data['code'], 'HUB_LINE_TOO_LONG', server);
      assert.equal(error.data['server'], server);
    }
    for (const { text } of await beside) assert.equal(text, 'slept 200 ms');
    assert.equal(
      (await client.call('echo_huge', { bytes: 2_000_000 })).text.length > 1_000_000,
      true,
    );
  });

  test('that is slow, silent or dead does not delay the start and the calls of others', async () => {
    await using hub = await startHub(
      [
        { name: 'never', file: 'never-ready.mjs' },
        { name: 'dead', file: 'exit-at-once.mjs' },
        { name: 'noise', file: 'stdout-noise.mjs' },
        { name: 'half', file: 'half-line.mjs' },
        ...Array.from({ length: 8 }, (_, at) => ({ name: `e${at}`, file: 'echo.mjs' })),
      ],
      { start: false },
    );
    hub.servers.startAll();
    const client = openClient(hub);
    await until(() =>
      hub.servers.all.every(
        ({ config, status }) => !config.name.startsWith('e') || status.state === 'running',
      ),
    );
    assert.equal(hub.server('never').status.state, 'starting');
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, at) => client.call(`e${at}_echo`, { text: `${at}` })),
    );
    assert.deepEqual(
      answers.map(({ text }) => text),
      ['0', '1', '2', '3', '4', '5', '6', '7'],
    );
  });

  test('leaves nothing in the router or its session after 10,000 calls', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const client = openClient(hub);
    for (let batch = 0; batch < 100; batch++)
      await Promise.all(
        Array.from({ length: 100 }, () =>
          client.call('echo_echo', { text: 'x' }, { progressToken: 1 }),
        ),
      );
    assert.equal(hub.server('echo').running?.upstream.inFlight(), 0);
    client.session.close('done');
    assert.equal(hub.router.sessionCount, 0);
    assert.ok(process.getActiveResourcesInfo().filter(kind => kind === 'Timeout').length < 20);
  });
});
