import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { type Log, HubError, silent, systemClock } from '#core';
import { type Fixture, configOf, createRecordingLog, createTestEras } from '#helpers/hub';
import type { Era } from '#mcp';
import { createTable } from '#store';
import { createProcessRuntime } from '#runtimes/process';
import {
  type Eras,
  type Server,
  createServers,
  describeServer,
  maySpeakBoth,
  planLaunch,
} from '#servers';
import { createEras, eraToldBy } from '../../../hub/servers/handshake/eras.ts';
import { createScriptedServer } from '../../routing/scripted-server.ts';

/** Returns a server that speaks MCP of one era (2025 or 2026) or both, and refuses sessions of another era. */
const speaks = (era: '2025' | '2026' | 'both', more: Partial<Fixture> = {}): Fixture => ({
  name: `speaks-${era}`,
  file: '../conformance/server.mjs',
  args: ['--era', era],
  ...more,
});

/** Creates servers and records their launches. All instances have this `identity`, as if they were containers. */
function scene(
  fixtures: readonly Fixture[],
  options: { readonly eras?: Eras; readonly identity?: string; readonly log?: Log } = {},
) {
  const { log = silent, eras = createTestEras(log), identity } = options;
  const runtime = createProcessRuntime(
    { environment: process.env, platform: process.platform },
    { clock: systemClock },
  );
  const launched: string[] = [];
  const servers = createServers(fixtures.map(configOf), {
    clock: systemClock,
    log,
    random: () => 1,
    hubVersion: '0',
    eras,
    launch: async (config, events, signal, instance) => {
      launched.push(instance ?? config.name);
      const spec = planLaunch(config, { auto: 'process', dataDir: '/nonexistent' }, instance);
      const started = await runtime.launch(spec, events, signal);
      return identity === undefined ? started : { ...started, identity };
    },
  });
  return Object.assign(servers, {
    launched,
    eras,
    [Symbol.asyncDispose]: () => servers.stopAll(),
  });
}

const eraOf = async (server: Server): Promise<Era> => (await server.ready()).serverInfo.era;

const failureOf = async (server: Server): Promise<string> => {
  const error = await server.ready().then(
    () => assert.fail('it answers'),
    (reason: unknown) => reason,
  );
  return error instanceof HubError ? error.message : assert.fail(String(error));
};

describe('the era of a server', () => {
  for (const [spoken, era] of [
    ['2025', 'legacy'],
    ['2026', 'modern'],
    ['both', 'modern'],
  ] as const)
    test(`that speaks ${spoken} is determined as ${era}, once`, async () => {
      await using servers = scene([
        speaks(spoken),
        speaks(spoken, { name: 'second', env: { OTHER: '1' } }),
      ]);
      const server = servers.get(`speaks-${spoken}`);
      assert.equal(await eraOf(server), era);
      assert.equal(describeServer(server)['era'], era);
      assert.ok(server.listing.tool.length > 10);
      assert.deepEqual(servers.launched, [server.config.name, server.config.name]);
      await server.stop(false);
      assert.equal(await eraOf(server), era);
      assert.equal(await eraOf(servers.get('second')), era, 'the environment is no other program');
      assert.equal(servers.launched.length, 4);
    });

  test('is determined beside the first instance if the program has an identity', async () => {
    await using servers = scene([speaks('2026')], { identity: 'sha256:1' });
    assert.equal(await eraOf(servers.get('speaks-2026')), 'modern');
    assert.deepEqual(servers.launched, ['speaks-2026', 'probe']);
  });

  test('is determined once for concurrent starts', async () => {
    const names = ['a', 'b', 'c', 'd'];
    await using servers = scene(
      names.map(name => speaks('2025', { name })),
      { identity: 'sha256:1' },
    );
    assert.deepEqual(
      await Promise.all(servers.all.map(eraOf)),
      names.map(() => 'legacy'),
    );
    assert.deepEqual(servers.launched.toSorted(), [...names, 'probe']);
  });

  for (const [what, env] of [
    ['refuses', {}],
    ['ends at', { BEFORE: 'exit' }],
    ['is silent about', { BEFORE: 'silence' }],
  ] as const)
    test(`that ${what} what comes before initialize is legacy`, async () => {
      await using servers = scene([{ name: 'who', env }]);
      assert.equal(await eraOf(servers.get('who')), 'legacy');
      assert.deepEqual(servers.launched, ['who', 'who']);
      assert.equal(servers.get('who').restarts, 0);
    });

  for (const [spoken, wrong, right] of [
    ['2025', 'modern', 'legacy'],
    ['2026', 'legacy', 'modern'],
  ] as const)
    test(`that is remembered as ${wrong} and has become ${right} is determined again`, async () => {
      const { log, logged } = createRecordingLog();
      await using servers = scene([speaks(spoken)], { log });
      const server = servers.get(`speaks-${spoken}`);
      const key = servers.eras.keyOf(server.config, undefined);
      await servers.eras.confirm(key, wrong, true);
      assert.equal(await eraOf(server), right);
      assert.equal(await servers.eras.recall(key), right);
      assert.equal(servers.launched.length, 3, 'as remembered, to find out, and as found out');
      assert.ok(logged.some(({ message }) => message.includes('determined again')));
      assert.equal(server.lastError, undefined);
    });

  test('that its entry sets is not determined', async () => {
    await using servers = scene([
      speaks('both', { name: 'old', era: 'legacy' }),
      speaks('both', { name: 'new', era: 'modern' }),
    ]);
    assert.equal(await eraOf(servers.get('old')), 'legacy');
    assert.equal(await eraOf(servers.get('new')), 'modern');
    assert.deepEqual(servers.launched, ['old', 'new']);
  });

  for (const [spoken, era] of [
    ['2025', 'modern'],
    ['2026', 'legacy'],
  ] as const)
    test(`that its entry sets to ${era} and the server does not speak is an error that names the key, once`, async () => {
      await using servers = scene([speaks(spoken, { era })]);
      const server = servers.get(`speaks-${spoken}`);
      const error = await server.ready().catch((reason: unknown) => reason);
      assert.ok(error instanceof HubError);
      assert.equal(error.code, 'HUB_SERVER_FAILED');
      assert.match(error.message, new RegExp(`does not speak MCP .*"era": "${era}"`));
      assert.equal(error.data.retryable, false);
      assert.equal(server.status.state, 'failed');
      assert.equal(servers.launched.length, 1, 'it is not tried again');
    });

  test('that its entry sets wrongly is an error for an instance per session too', async () => {
    await using servers = scene([speaks('2025', { era: 'modern', instance: 'session' })]);
    const base = servers.get('speaks-2025');
    const own = servers.instances.of(base, {}, undefined, () => false);
    const error = await own.ready().catch((reason: unknown) => reason);
    assert.ok(error instanceof HubError);
    assert.match(error.message, /"era": "modern"/);
    assert.equal(error.data.retryable, false);
  });

  test('that is silent in the era of its entry and answers in the other is such an error', async () => {
    const env = { BEFORE: 'silence' };
    await using servers = scene([{ name: 'who', env, era: 'modern', startTimeoutMs: 2_000 }]);
    const server = servers.get('who');
    assert.match(await failureOf(server), /does not speak MCP .*"era": "modern".*"era" to "auto"/);
    assert.equal(server.status.state, 'failed');
    assert.equal(servers.launched.length, 1);
  });

  for (const [what, fixture] of [
    ['is silent in both', { name: 'never-ready', startTimeoutMs: 500 }],
    ['ends at it', { name: 'who', env: { BEFORE: 'exit' } }],
  ] as const)
    test(`that its entry sets is named in the error of a server that ${what}, which is retried`, async () => {
      await using servers = scene([{ ...fixture, era: 'modern', maxRestarts: 1 }]);
      const server = servers.get(fixture.name);
      assert.match(await failureOf(server), /set "era" to "auto" if .*"era": "modern"/);
      await server.ready().catch(() => undefined);
      assert.equal(servers.launched.length, 2);
    });

  test('that a cancelled start did not determine is left to the next start', async () => {
    await using servers = scene([{ name: 'who', env: { BEFORE: 'silence' } }]);
    const server = servers.get('who');
    const first = server.ready();
    await Promise.all([server.stop(false), assert.rejects(first)]);
    assert.equal(await eraOf(server), 'legacy');
  });
});

describe('the remembered era', () => {
  test('belongs to the program, not to the name or the environment', () => {
    const config = configOf({ name: 'echo', env: { TOKEN: 'secret' } });
    const eras = createTestEras(silent);
    const key = eras.keyOf(config, undefined);
    assert.equal(key, eras.keyOf(configOf({ name: 'other', file: 'echo.mjs' }), undefined));
    assert.notEqual(key, eras.keyOf(configOf({ name: 'echo', args: ['-v'] }), undefined));
    assert.notEqual(key, eras.keyOf(config, 'sha256:1'));
    assert.notEqual(eras.keyOf(config, 'sha256:1'), eras.keyOf(config, 'sha256:2'));
  });

  test('is stored under keyed digests, and those of earlier versions are removed', async () => {
    const kept = createTable({ file: undefined, maxEntries: 10 }, { log: silent });
    const config = configOf({ name: 'echo', args: ['--token', 'hunter2'] });
    const [eras, other] = [1, 2].map(byte =>
      createEras({ kept, secret: Buffer.alloc(32, byte), log: silent }),
    );
    assert.ok(eras && other);
    const key = eras.keyOf(config, undefined);
    assert.match(key, /^hmac-[0-9a-f]{32}$/);
    assert.notEqual(key, other.keyOf(config, undefined));
    const old = '0123456789abcdef0123456789abcdef';
    for (const each of [key, old, `${old}.older`]) await kept.put(each, 'modern');
    await eras.removeUnkeyed();
    assert.deepEqual(await kept.entries(), [[key, 'modern']]);
  });

  test('is stored only after a handshake in that era', async () => {
    const eras = createTestEras(silent);
    assert.equal(await eras.find('a', async () => 'modern'), 'modern');
    await eras.forget('a');
    assert.equal(await eras.recall('a'), undefined);
    await eras.confirm('a', 'legacy', true);
    assert.equal(await eras.find('a', () => assert.fail('it is known')), 'legacy');
  });

  test('is not taken from a cancelled start, while a timeout fails all waiting starts', async () => {
    const eras = createTestEras(silent);
    const rejects = (code: 'HUB_SERVER_START_FAILED' | 'HUB_SERVER_STOPPED') => async () => {
      await new Promise(setImmediate);
      throw new HubError(code, 'no');
    };
    const silence = [1, 2].map(() => eras.find('a', rejects('HUB_SERVER_START_FAILED')));
    for (const one of silence) await assert.rejects(one, { code: 'HUB_SERVER_START_FAILED' });
    const [given, second] = [
      eras.find('b', rejects('HUB_SERVER_STOPPED')),
      eras.find('b', async () => 'modern'),
    ];
    await assert.rejects(given, { code: 'HUB_SERVER_STOPPED' });
    assert.equal(await second, 'modern');
  });
});

test.for([
  [-32020, undefined, 'modern'],
  [-32021, undefined, 'modern'],
  [-32022, { supported: ['2026-07-28'] }, 'modern'],
  [-32022, undefined, 'modern'],
  [-32022, { supported: ['2025-11-25'] }, 'legacy'],
  [-32601, undefined, 'legacy'],
  [-32000, undefined, 'legacy'],
] as const)('the refusal %s with %o comes from a server that is %s', ([code, data, era]) => {
  const refusal = new HubError('HUB_SERVER_PROTOCOL', 'no', {
    data: { error: { code, message: 'no', data } },
  });
  assert.equal(eraToldBy(refusal), era);
  assert.equal(eraToldBy(new HubError('HUB_SERVER_DOWN', 'gone')), undefined);
});

describe('a server may speak both eras', () => {
  const url = 'http://127.0.0.1:9/mcp';
  const answered = { era: 'modern' } as const;

  test('if it is remote, has answered in the newer one, and its entry names none', () => {
    assert.equal(maySpeakBoth(createScriptedServer({ name: 'own', url }, answered).server), true);
  });

  test.each([
    ['its entry names the era', { url, era: 'modern' }, answered],
    ['it answered in the older one', { url }, { era: 'legacy' }],
    ['it does not run', { url }, { ...answered, isRunning: false }],
    ['it is a process of the hub', {}, answered],
  ] as const)('but not if %s', (_, entry, script) => {
    assert.equal(
      maySpeakBoth(createScriptedServer({ name: 'own', ...entry }, script).server),
      false,
    );
  });

  test('but not over the transport of 2024, which has no newer era', () => {
    const { server } = createScriptedServer({ name: 'own', url }, answered);
    const launch = { kind: 'remote', transport: 'sse', url, headers: {} } as const;
    assert.equal(maySpeakBoth({ ...server, config: { ...server.config, launch } }), false);
  });
});
