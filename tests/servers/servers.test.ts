import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { ServerConfig } from '#config';
import { HubError, silent } from '#core';
import { createManualClock } from '#helpers/clock';
import { createTestEras } from '#helpers/hub';
import { never } from '#helpers/never';
import { type ServerNeeds, createHandles, createServers } from '#servers';
import { createTable } from '#store';
import { emptyListing } from '../../hub/servers/listing/listing.ts';
import { createAnswering, legacyReplies, settle } from './answering.ts';
import { configFor } from './scripted.ts';

type Scripting = {
  /** Names of servers whose starts hang until they are cancelled. */
  readonly hanging?: readonly string[];
  readonly launches?: NonNullable<ServerNeeds['launches']>;
  readonly backlog?: Parameters<typeof createServers>[1]['backlog'];
};

/** Creates servers with scripted instances, and records the names of the launched ones. */
function openScripted(configs: readonly ServerConfig[], scripting: Scripting = {}) {
  const { hanging = [], launches, backlog } = scripting;
  const clock = createManualClock();
  const launched: string[] = [];
  /** Names of the servers whose instances ended, each with the name that was launched last by then. */
  const ended: (readonly [name: string, last: string | undefined])[] = [];
  const servers = createServers(configs, {
    clock,
    log: silent,
    random: () => 1,
    hubVersion: '0',
    eras: createTestEras(silent),
    ...(launches && { launches }),
    ...(backlog && { backlog }),
    async launch({ name }, _events, signal) {
      launched.push(name);
      if (hanging.includes(name)) await cancelled(signal);
      const instance = createAnswering(legacyReplies);
      void instance.exited.then(() => ended.push([name, launched.at(-1)]));
      return instance;
    },
  });
  return {
    clock,
    launched,
    ended,
    servers,
    apply: (...changed: readonly ServerConfig[]) =>
      servers.apply({ naming: { separator: '_', maxLength: 46 }, servers: changed }),
    stateOf: (name: string): string => servers.get(name).status.state,
    [Symbol.asyncDispose]: () => servers.stopAll(),
  };
}

const cancelled = (signal: AbortSignal) =>
  new Promise<never>((_, reject) =>
    signal.addEventListener('abort', () =>
      reject(new HubError('HUB_SERVER_STOPPED', 'it was cancelled')),
    ),
  );

const named = (name: string, more: Partial<ServerConfig> = {}) => configFor({ name, ...more });

const createTestHandles = () =>
  createHandles(createTable({ file: undefined, maxEntries: 10 }, { log: silent }));

const handleOf = (digest: string) => ({
  digest,
  instance: 'container-1',
  initializeAnswer: undefined,
  generation: 0,
  variant: undefined,
});

test('an unknown server is an error with the names in the config', () => {
  const { servers } = openScripted([named('a'), named('b')]);
  assert.throws(() => servers.get('c d'), {
    code: 'HUB_SERVER_UNKNOWN',
    message: 'no server is called "c d". The config has: a, b',
    data: { server: 'c d' },
  });
  assert.equal(servers.find('c d'), undefined);
  assert.throws(() => openScripted([]).servers.get('a'), {
    message: 'no server is called "a". The config has: none',
  });
});

describe('the servers that start with the hub', () => {
  const configs = [
    named('auto'),
    named('lazy', { autoStart: false }),
    named('off', { enabled: false }),
    named('outlived', { autoStart: false }),
    named('outlived-off', { enabled: false }),
  ];

  test('are those whose entry says so, and those with handles of an earlier run', async () => {
    const handles = createTestHandles();
    for (const name of ['outlived', 'outlived-off']) await handles.keep(name, handleOf('d'));
    const adoption = { handles, digestOf: () => 'd', adopt: async () => undefined };
    await using scene = openScripted(configs, { launches: { adoption } });
    scene.servers.startAll();
    assert.deepEqual(
      configs.map(({ name }) => scene.stateOf(name)),
      ['starting', 'stopped', 'stopped', 'starting', 'stopped'],
    );
    await scene.servers.settled(1_000, never);
    assert.deepEqual(scene.launched.toSorted(), ['auto', 'outlived']);
  });

  test('are those whose entry says so, if no handles are left', async () => {
    await using scene = openScripted(configs);
    scene.servers.startAll();
    await scene.servers.settled(1_000, never);
    assert.deepEqual(scene.launched, ['auto']);
  });

  test('that are renamed start when the ones of the old names have ended, as both write to the same volumes', async () => {
    await using scene = openScripted([named('before')]);
    scene.servers.startAll();
    await settle();
    await scene.apply(named('after'));
    assert.deepEqual(scene.ended[0], ['before', 'before']);
    assert.deepEqual(scene.launched, ['before', 'after']);
  });

  test('that are added to the config start as well, unless their entry says otherwise', async () => {
    await using scene = openScripted([]);
    await scene.apply(...configs);
    await scene.servers.settled(1_000, never);
    assert.deepEqual(scene.launched, ['auto']);
  });
});

describe('the state of an earlier run', () => {
  test('is restored: handles that match the config, and stored listings', async () => {
    const handles = createTestHandles();
    const names = ['same', 'changed', 'off', 'broken', 'removed'];
    for (const name of names) await handles.keep(name, handleOf(`digest of ${name}`));
    const digestOf = ({ name }: ServerConfig) => {
      if (name === 'broken') throw new HubError('HUB_LAUNCH_INVALID', 'no such folder');
      return name === 'changed' ? 'another' : `digest of ${name}`;
    };
    const tool = [{ key: 'work', bytes: Buffer.from('{"name":"work"}') }];
    await using scene = openScripted(
      [named('same'), named('changed'), named('off', { enabled: false }), named('broken')],
      {
        launches: {
          adoption: { handles, digestOf, adopt: async () => undefined },
          digestOf,
          keptListings: {
            find: async server => ({
              listing: { ...emptyListing, ...(server === 'same' && { tool }) },
              identity: undefined,
            }),
            keep: async () => {},
            forget: async () => {},
          },
        },
      },
    );
    await scene.servers.recall();
    assert.deepEqual(
      names.filter(name => handles.find(name)),
      ['same'],
    );
    assert.equal(scene.servers.get('same').listing.tool.length, 1);
    assert.deepEqual(scene.launched, [], 'nothing is started for that');
  });

  test('is removed with a removed server, of which listeners are notified', async () => {
    const forgotten: string[] = [];
    const keptListings = {
      find: async () => undefined,
      keep: async () => {},
      forget: async (server: string) => void forgotten.push(server),
    };
    await using scene = openScripted([named('stays'), named('goes')], {
      launches: { keptListings },
    });
    const heard: string[] = [];
    using _ = scene.servers.removed(({ config }) => void heard.push(config.name));
    await scene.apply(named('stays'));
    assert.deepEqual([heard, forgotten], [['goes'], ['goes']]);
  });
});

test('a config that fails because of a bug does not keep the next one from being applied', async () => {
  const keptListings = {
    find: async () => undefined,
    keep: async () => {},
    forget: () => Promise.reject(new TypeError('a bug')),
  };
  await using scene = openScripted([named('a')], { launches: { keptListings } });
  const failed = assert.rejects(scene.apply(), /a bug/);
  const applied = await scene.apply(named('b', { autoStart: false }));
  await failed;
  assert.deepEqual(applied.added, ['b']);
});

describe('the wait for servers that start', () => {
  test('ends at once if none starts', async () => {
    await using scene = openScripted([named('a')]);
    await scene.servers.settled(1_000, never);
    assert.equal(scene.clock.waiting, 0, 'no timer is left');
  });

  test('ends when the last of them runs, or is stopped', async () => {
    await using scene = openScripted([named('a'), named('slow')], { hanging: ['slow'] });
    scene.servers.startAll();
    let isOver = false;
    const settled = scene.servers.settled(1_000, never).then(() => (isOver = true));
    await settle();
    assert.deepEqual([scene.stateOf('a'), isOver], ['running', false]);
    await scene.servers.get('slow').stop(true);
    await settled;
  });

  test('ends at its time limit, and when it is cancelled', async () => {
    await using scene = openScripted([named('slow')], { hanging: ['slow'] });
    scene.servers.startAll();
    const inTime = scene.servers.settled(1_000, never);
    scene.clock.advance(1_000);
    await inTime;
    const cancelling = new AbortController();
    const given = scene.servers.settled(1_000, cancelling.signal);
    cancelling.abort();
    await given;
    assert.equal(scene.stateOf('slow'), 'starting');
  });
});

test('failed writes are retried; those that still fail are reported', async () => {
  const failure = { file: '/data/handles.json', reason: 'ENOSPC' };
  const { servers } = openScripted([], { backlog: { retry: async () => [failure] } });
  assert.deepEqual(await servers.unwritten(), [failure]);
  assert.deepEqual(await openScripted([]).servers.unwritten(), []);
});
