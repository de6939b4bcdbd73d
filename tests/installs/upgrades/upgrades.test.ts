import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { PackageSpec, ServerConfig } from '#config';
import { HubError, type JsonObject, silent } from '#core';
import { createManualClock } from '#helpers/clock';
import type { Belonging, LaunchSpec } from '#runtimes';
import { planLaunch } from '#servers';
import { createBacklog, createTable } from '#store';
import { type UpgradesNeeds, createUpgrades } from '../../../hub/installs/upgrades/upgrades.ts';
import { packagedConfig } from './packaged.ts';

const place = { auto: 'docker', dataDir: '/data' } as const;
const npm = (version: string) => ({ ecosystem: 'npm', spec: `n@${version}` }) as const;

const volumesOf = async ({ target }: LaunchSpec): Promise<readonly Belonging[]> =>
  target.kind === 'docker' ? target.volumes.map(({ name }) => ({ kind: 'volume', name })) : [];

/** Creates the upgrades of one server whose entry is in memory. Its tools change with its version. */
function open(
  override: Partial<UpgradesNeeds> = {},
  unfinished?: UpgradesNeeds['belongings']['unfinished'],
) {
  let entry: JsonObject = { package: 'n@1.0.0' };
  const configWith = (values: JsonObject): ServerConfig => {
    const { package: spec } = { ...entry, ...values };
    assert.ok(typeof spec === 'string');
    const config = packagedConfig({ ecosystem: 'npm', spec });
    assert.ok(config.launch.kind === 'local');
    const { launch } = config;
    const volumes = [{ name: 'mine', target: '/work' }];
    const mounts = [{ source: '/home', target: '/home', readOnly: false }];
    const sandbox = { ...launch.sandbox, volumes, mounts };
    return { ...config, launch: { ...launch, runtime: 'docker', sandbox } };
  };
  const tried: ServerConfig[] = [];
  const discarded: string[] = [];
  const pruned: string[] = [];
  const table = createTable(
    { file: undefined, maxEntries: 10 },
    { log: silent, backlog: createBacklog() },
  );
  const upgrades = createUpgrades({
    log: silent,
    pins: {
      pin: async ({ spec }: PackageSpec) =>
        /@./.test(spec) ? { ecosystem: 'npm', spec } : npm('2.0.0'),
      findElsewhere: async () => undefined,
    },
    configFile: {
      configs: () => [configWith({})],
      find: async () => entry,
      preview: async (_, values) => configWith(values),
      async set(_, values) {
        entry = { ...entry, ...values };
      },
    },
    async trial(config) {
      tried.push(config);
      const listing = { tool: [], resource: [], template: [], prompt: [] };
      return { about: {}, listing, instructions: undefined };
    },
    belongings: {
      ...(unfinished && { unfinished }),
      specOf: config => planLaunch(config, place),
      upkeeps: {
        docker: {
          prepare: async () => ({}),
          candidates: volumesOf,
          belongings: volumesOf,
          discard: async ({ name }) => void discarded.push(name),
        },
      },
    },
    servers: { all: [], find: () => undefined },
    rollbacks: { table, clock: createManualClock() },
    images: {
      pruning: {
        async prune(needed) {
          pruned.push(...needed.map(one => JSON.stringify(one)));
          return { removed: [], left: [] };
        },
      },
      installing: () => [],
    },
    ...override,
  });
  const signal = new AbortController().signal;
  return {
    upgrades,
    tried,
    discarded,
    pruned,
    entry: () => entry['package'],
    upgrade: (request: object = {}) =>
      upgrades.upgrade({ name: 'one', isDry: false, ...request }, () => {}, signal),
    rollback: () => upgrades.rollback('one', () => {}, signal),
  };
}

test('a version is tried with empty volumes and read-only mounts', async () => {
  const hub = open();
  const done = await hub.upgrade();
  assert.deepEqual([done.from, done.to, done.done], ['n@1.0.0', 'n@2.0.0', true]);
  const [beside] = hub.tried;
  assert.ok(beside?.launch.kind === 'local');
  const { volumes, mounts } = beside.launch.sandbox;
  assert.deepEqual(volumes, [{ name: 'mine.trial', target: '/work' }]);
  assert.deepEqual(mounts, [{ source: '/home', target: '/home', readOnly: true }]);
  assert.deepEqual(hub.discarded, ['mine.trial'], 'nothing of the trial is left');
});

test('volumes of a trial are recorded until they are removed, in case the hub is killed', async () => {
  const unfinished = createTable(
    { file: undefined, maxEntries: 10 },
    { log: silent, backlog: createBacklog() },
  );
  const recorded: unknown[] = [];
  async function trial(): Promise<never> {
    recorded.push(...(await unfinished.entries()));
    throw new HubError('HUB_SERVER_START_FAILED', 'it has exited');
  }
  const hub = open({ trial }, unfinished);
  await assert.rejects(hub.upgrade(), { code: 'HUB_SERVER_START_FAILED' });
  assert.deepEqual(recorded, [['volume mine.trial', 'docker']]);
  assert.deepEqual(await unfinished.entries(), []);
});

test('a dry run changes nothing', async () => {
  const hub = open();
  assert.equal((await hub.upgrade({ isDry: true })).done, false);
  assert.equal(hub.entry(), 'n@1.0.0');
});

test('upgrades can be rolled back one after the other, and prune keeps the images for that', async () => {
  const hub = open();
  await hub.upgrade();
  await hub.upgrade({ version: '3.0.0' });
  await hub.upgrades.prune({ isDry: true });
  for (const spec of ['n@1.0.0', 'n@2.0.0', 'n@3.0.0'])
    assert.ok(
      hub.pruned.some(one => one.includes(`"${spec}"`)),
      spec,
    );
  assert.deepEqual(await hub.rollback(), { name: 'one', from: 'n@3.0.0', to: 'n@2.0.0' });
  assert.deepEqual(await hub.rollback(), { name: 'one', from: 'n@2.0.0', to: 'n@1.0.0' });
  await assert.rejects(hub.rollback(), { code: 'HUB_REQUEST_INVALID' });
  assert.equal(hub.entry(), 'n@1.0.0');
  hub.pruned.length = 0;
  await hub.upgrades.prune({ isDry: true });
  assert.ok(!hub.pruned.some(one => one.includes('n@3.0.0')));
});

test('prune keeps the image of a version in a trial, also after a second upgrade was refused', async () => {
  const trial = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const listing = { tool: [], resource: [], template: [], prompt: [] };
  const hub = open({
    async trial() {
      started.resolve();
      await trial.promise;
      return { about: {}, listing, instructions: undefined };
    },
  });
  const first = hub.upgrade();
  await started.promise;
  await assert.rejects(hub.upgrade(), { code: 'HUB_CONFIG_CONFLICT' });
  await assert.rejects(hub.rollback(), { code: 'HUB_CONFIG_CONFLICT' });
  await hub.upgrades.prune({ isDry: false });
  assert.ok(hub.pruned.some(one => one.includes('"n@2.0.0"')));
  trial.resolve();
  assert.equal((await first).done, true);
});

test('a version that does not start cannot be rolled back to', async () => {
  const failing = {
    configs: () => [packagedConfig(npm('1.0.0'))],
    find: async () => ({ package: 'n@1.0.0' }),
    preview: async () => packagedConfig(npm('2.0.0')),
    async set() {
      throw new HubError('HUB_SERVER_START_FAILED', 'it has exited');
    },
  };
  const hub = open({ configFile: failing });
  await assert.rejects(hub.upgrade(), { code: 'HUB_SERVER_START_FAILED' });
  await assert.rejects(hub.rollback(), { code: 'HUB_REQUEST_INVALID' });
});

test.each([
  ['no newer version', { version: '1.0.0' }, 'HUB_REQUEST_INVALID'],
  ['no exact version', { version: 'next' }, 'HUB_REQUEST_INVALID'],
  ['an unknown server', { name: 'two' }, 'HUB_SERVER_UNKNOWN'],
  ['something else than was accepted', { accept: 'x' }, 'HUB_DEFINITION_STALE'],
] as const)('%s is refused', async (_, request, code) => {
  const hub = open();
  await assert.rejects(hub.upgrade(request), { code });
  assert.equal(hub.entry(), 'n@1.0.0');
});

test('a server that is not a package, and one in another file, are refused', async () => {
  const none = { configs: () => [packagedConfig(undefined)], find: async () => undefined };
  const rest = { preview: async () => assert.fail(), set: async () => assert.fail() };
  await assert.rejects(open({ configFile: { ...none, ...rest } }).upgrade(), /not an npm or PyPI/);
  const other = { ...none, ...rest, configs: () => [packagedConfig(npm('1.0.0'))] };
  await assert.rejects(open({ configFile: other }).upgrade(), { code: 'HUB_CONFIG_CONFLICT' });
});

test('a version newer than the newest release is not replaced, unless the request names a version', async () => {
  const hub = open();
  await hub.upgrade({ version: '2.1.0' });
  await assert.rejects(hub.upgrade(), /is newer than 2\.0\.0/);
  assert.equal((await hub.upgrade({ version: '2.0.0' })).done, true);
});
