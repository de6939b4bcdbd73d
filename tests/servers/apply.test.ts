import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { Config, ServerConfig } from '#config';
import { isObject, silent } from '#core';
import { type Fixture, configOf, createFixtureServers, startHub, until } from '#helpers/hub';
import { type Server, describeServer } from '#servers';
import { call, openSession } from '../transports/raw.ts';

const naming = { separator: '_', maxLength: 46 } as const;

/** Creates servers whose config the test changes. */
function open(...fixtures: readonly Fixture[]) {
  const servers = createFixtureServers(fixtures, { log: silent });
  const configFrom = (configs: readonly ServerConfig[]): Config => ({ naming, servers: configs });
  return {
    servers,
    apply(...changed: readonly Fixture[]) {
      return servers.apply(configFrom(changed.map(configOf)));
    },
    [Symbol.asyncDispose]: () => servers.stopAll(),
  };
}

const pidOf = (server: Server): number => {
  const pid = server.running?.instance.about['pid'];
  return typeof pid === 'number' ? pid : assert.fail('it does not run');
};

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const echo = (name: string, more: Partial<Fixture> = {}): Fixture => ({
  name,
  file: 'echo.mjs',
  era: 'legacy',
  ...more,
});
const who = (more: Partial<Fixture> = {}): Fixture => ({
  name: 'who',
  instance: 'session',
  era: 'legacy',
  ...more,
});
const client = { capabilities: '{}', clientInfo: '{"name":"ada","version":"1"}' };
const never = () => false;

test.each(['shared', 'session'] as const)(
  'a call fails for good if the server (%s) is removed meanwhile',
  async instance => {
    await using hub = await startHub([echo('echo', { instance })]);
    const session = await openSession(`${hub.url}/mcp`);
    const answered = session.post(call(1, 'echo_slow', { ms: 60_000 }));
    const base = hub.server('echo');
    const own = () => (instance === 'shared' ? base : hub.servers.instances.list(base)[0]);
    await until(() => own()?.running?.upstream.inFlight() === 1);
    await hub.servers.apply({ naming, servers: [] });
    assert.match(
      await (await answered).body(),
      /echo is gone: it was removed from the config",.*"HUB_SERVER_DOWN",.*"retryable":false/,
    );
  },
);

describe('a new config', () => {
  test('starts added servers, stops removed ones, and leaves unchanged ones alone', async () => {
    await using scene = open(echo('stays'), echo('goes'));
    const { servers } = scene;
    const [stays, goes] = [servers.get('stays'), servers.get('goes')];
    await Promise.all([stays.ready(), goes.ready()]);
    const [kept, gone] = [pidOf(stays), pidOf(goes)];
    const applied = await scene.apply(echo('comes'), echo('stays'));
    assert.deepEqual(applied, {
      added: ['comes'],
      removed: ['goes'],
      changed: [],
      failed: [],
      unchanged: 1,
    });
    assert.deepEqual(
      servers.all.map(({ config }) => config.name),
      ['comes', 'stays'],
    );
    assert.equal(pidOf(stays), kept);
    assert.equal(isAlive(gone), false);
    await servers.get('comes').ready();
    assert.throws(() => servers.get('goes'), { code: 'HUB_SERVER_UNKNOWN' });
    await assert.rejects(goes.ready(), {
      code: 'HUB_SERVER_UNKNOWN',
      message: 'goes was removed from the config',
    });
  });

  test('names servers that do not start, which stay as they were', async () => {
    await using scene = open(echo('bad'), echo('good'));
    const { servers } = scene;
    await Promise.all(servers.all.map(server => server.ready()));
    const [bad, good] = servers.all.map(pidOf);
    const applied = await scene.apply(
      echo('bad', { file: 'exit-at-once.mjs' }),
      echo('good', { env: { CHANGED: 'yes' } }),
    );
    assert.deepEqual(applied.changed, ['good']);
    assert.deepEqual(
      applied.failed.map(({ server, error }) => [server, error.code]),
      [['bad', 'HUB_SERVER_START_FAILED']],
    );
    assert.match(applied.failed[0]?.error.message ?? '', /exited with code 3/);
    assert.equal(pidOf(servers.get('bad')), bad);
    assert.notEqual(pidOf(servers.get('good')), good);
    assert.equal(servers.get('bad').status.state, 'running');
  });

  test('is retried for a server that did not start, while the old instance shows its own config', async () => {
    await using scene = open(echo('bad'), echo('good'));
    const { servers } = scene;
    await Promise.all(servers.all.map(server => server.ready()));
    const [bad, good] = servers.all.map(pidOf);
    const server = servers.get('bad');
    const wrong = echo('bad', { file: 'exit-at-once.mjs', description: 'wrong' });
    assert.equal((await scene.apply(wrong, echo('good'))).failed.length, 1);
    const shown = describeServer(server);
    assert.equal(shown['state'], 'running');
    assert.equal(shown['description'], undefined, 'the entry that runs is shown');
    const { refused_entry: refused } = shown;
    assert.ok(isObject(refused));
    assert.match(JSON.stringify(refused['message']), /exited with code 3/);
    const before = server.refusedEntry;
    const again = await scene.apply(wrong, echo('good'));
    assert.equal(again.failed.length, 1, 'the same config is tried again');
    assert.notEqual(server.refusedEntry, before);
    assert.deepEqual(servers.all.map(pidOf), [bad, good]);
    const mended = await scene.apply(echo('bad', { description: 'right' }), echo('good'));
    assert.deepEqual(mended.changed, ['bad']);
    assert.equal(describeServer(server)['refused_entry'], undefined);
  });

  test('does nothing for a server that already runs with it, whatever was tried meanwhile', async () => {
    await using scene = open(echo('bad'));
    const server = scene.servers.get('bad');
    await server.ready();
    const pid = pidOf(server);
    const tried = scene.apply(echo('bad', { file: 'exit-at-once.mjs' }));
    // The second config arrives while the first is being tried.
    const [back] = await Promise.all([scene.apply(echo('bad')), tried]);
    assert.deepEqual(back, { added: [], removed: [], changed: [], failed: [], unchanged: 1 });
    assert.equal(pidOf(server), pid);
    assert.equal(server.refusedEntry, undefined);
    assert.equal(server.config.description, undefined);
  });

  test('is not applied once the servers are stopped, and leaves nothing running', async () => {
    await using scene = open(echo('one'));
    const { servers } = scene;
    const one = servers.get('one');
    await one.ready();
    const pid = pidOf(one);
    const applying = scene.apply(echo('two'));
    const late = scene.apply(echo('three'));
    const refused = assert.rejects(late, { code: 'HUB_SHUTTING_DOWN' });
    await Promise.resolve();
    await servers.stopAll();
    assert.equal(isAlive(pid), false, 'what was being removed is gone too');
    await applying;
    await refused;
    assert.ok(servers.all.every(({ status }) => status.state === 'stopped'));
  });
});

describe('instances per session', () => {
  const of = (scene: ReturnType<typeof open>, session: object) =>
    scene.servers.instances.of(scene.servers.get('who'), session, client, never);

  test('continue when their server is replaced, and start with the new config the next time', async () => {
    await using scene = open(who());
    const base = scene.servers.get('who');
    const session = {};
    const own = of(scene, session);
    await Promise.all([own.ready(), base.ready()]);
    const [pid, basePid] = [pidOf(own), pidOf(base)];
    await scene.apply(who({ env: { CHANGED: 'yes' } }));
    assert.notEqual(pidOf(base), basePid);
    assert.equal(pidOf(own), pid);
    process.kill(pid, 'SIGKILL');
    await until(() => own.status.state === 'stopped');
    await of(scene, session).ready();
    assert.equal(own.config, base.config);
    assert.notEqual(pidOf(own), pid);
  });

  test('get changes that need no new process', async () => {
    await using scene = open(who());
    const own = of(scene, {});
    await own.ready();
    const pid = pidOf(own);
    await scene.apply(who({ callTimeoutMs: 77 }));
    await until(() => own.config.callTimeoutMs === 77);
    assert.equal(pidOf(own), pid);
  });

  test('end with a removed server, and none is opened afterwards', async () => {
    await using scene = open(who());
    const base = scene.servers.get('who');
    const session = {};
    const own = of(scene, session);
    await own.ready();
    const pid = pidOf(own);
    await scene.apply();
    assert.equal(isAlive(pid), false);
    assert.equal(scene.servers.instances.count(base), 0);
    assert.throws(() => scene.servers.instances.of(base, session, client, never), {
      code: 'HUB_SERVER_UNKNOWN',
    });
    await assert.rejects(own.ready(), { code: 'HUB_SERVER_UNKNOWN' });
    scene.servers.instances.release(session);
  });

  test('continue when the shared instance exits and is not restarted', async () => {
    const leaves = { file: 'leaves.mjs', restart: 'transient', env: { AFTER_MS: '1000' } } as const;
    await using scene = open(who(leaves));
    const base = scene.servers.get('who');
    await base.ready();
    const own = of(scene, {});
    await own.ready();
    let isStopped = false;
    using _ = own.changed(status => {
      isStopped ||= status.state === 'stopping' && !status.hasEnded;
    });
    await until(() => base.status.state === 'stopped' && own.status.state === 'stopped');
    assert.equal(isStopped, false, 'it has ended by itself, as the other has');
  });
});
