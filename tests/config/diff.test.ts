import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import {
  type Config,
  type ServerConfig,
  diffConfigs,
  readSettings,
  readTasks,
  settingsToRestartFor,
} from '#config';
import { configOf } from '#helpers/hub';
import { isSameConfig } from '../../hub/config/diff.ts';

const naming = { separator: '_', maxLength: 46 } as const;
const config = (...servers: readonly ServerConfig[]): Config => ({ servers, naming });
const server = (name: string, more: Partial<ServerConfig> = {}): ServerConfig => ({
  ...configOf({ name }),
  ...more,
});
const names = (servers: readonly ServerConfig[]) => servers.map(({ name }) => name);

test('servers are compared by name: added, removed, changed and unchanged', () => {
  const difference = diffConfigs(
    config(server('kept'), server('changed'), server('removed')),
    config(server('kept'), server('changed', { tags: ['new'] }), server('added')),
  );
  assert.deepEqual(names(difference.added), ['added']);
  assert.deepEqual(names(difference.removed), ['removed']);
  assert.deepEqual(names(difference.unchanged), ['kept']);
  assert.deepEqual(
    difference.changed.map(({ after, effect, keys }) => [after.name, effect, keys]),
    [['changed', 'apply', ['tags']]],
  );
  assert.equal(difference.naming, undefined);
  assert.equal(difference.reordered, false);
});

test('equal configs have no difference, whatever the order of their variables', () => {
  const launch = (env: Readonly<Record<string, string>>) => configOf({ name: 'one', env }).launch;
  const difference = diffConfigs(
    config(server('one', { launch: launch({ A: '1', B: '2' }) })),
    config(server('one', { launch: launch({ B: '2', A: '1' }) })),
  );
  assert.deepEqual(names(difference.unchanged), ['one']);
});

describe('a change of', () => {
  const { launch } = configOf({ name: 'one', env: { NEW: '1' } });
  test.for([
    [{ description: 'new' }, 'apply'],
    [{ tags: ['new'] }, 'apply'],
    [{ autoStart: false }, 'apply'],
    [{ restart: 'transient' }, 'apply'],
    [{ restart: 'temporary' }, 'apply'],
    [{ maxRestarts: 9 }, 'apply'],
    [{ healthCheckIntervalMs: 1 }, 'apply'],
    [{ startTimeoutMs: 1 }, 'apply'],
    [{ callTimeoutMs: 1 }, 'apply'],
    [{ maxConcurrentCalls: 1 }, 'apply'],
    [{ maxQueuedCalls: 1 }, 'apply'],
    [{ idleStopMs: 1 }, 'apply'],
    [{ maxInstances: 1 }, 'apply'],
    [{ instanceIdleMs: 1 }, 'apply'],
    [{ inputTimeoutMs: 1 }, 'apply'],
    [{ maxLineBytes: 1 }, 'replace'],
    [{ instance: 'session' }, 'replace'],
    [{ era: 'legacy' }, 'replace'],
    [{ launch }, 'replace'],
    [{ launch, tags: ['new'] }, 'replace'],
    [{ enabled: false }, 'switch'],
    [{ enabled: false, launch }, 'switch'],
  ] as const)('%j causes: %s', ([change, effect]) => {
    const [found] = diffConfigs(config(server('one')), config(server('one', change))).changed;
    assert.equal(found?.effect, effect);
    assert.deepEqual(found.keys.toSorted(), Object.keys(change).toSorted());
  });

  test('a disabled server replaces no process', () => {
    const [found] = diffConfigs(
      config(server('one', { enabled: false })),
      config(server('one', { enabled: false, launch })),
    ).changed;
    assert.equal(found?.effect, 'apply');
  });
});

test.for([
  ['another name', ['api.com'], ['api.com', 'b.com'], 'apply'],
  ['a pattern fewer', ['api.com', '*.c:1'], ['api.com'], 'apply'],
  ['another exact target', ['api.com'], ['api.com', 'db:1'], 'replace'],
  ['an exact target fewer', ['db:1'], [], 'replace'],
] as const)('a list of targets by %s causes: %j', ([, before, after, effect]) => {
  const { launch } = configOf({ name: 'one' });
  assert.ok(launch.kind === 'local');
  const withList = (allow: readonly string[]) =>
    server('one', { launch: { ...launch, sandbox: { ...launch.sandbox, network: { allow } } } });
  const { changed } = diffConfigs(config(withList(before)), config(withList(after)));
  assert.deepEqual(
    changed.map(one => one.effect),
    [effect],
  );
});

test('naming and the order of servers are separate differences', () => {
  const before = config(server('one'), server('two'));
  const renamed = diffConfigs(before, { ...before, naming: { ...naming, separator: '__' } });
  assert.equal(renamed.naming?.after.separator, '__');
  assert.deepEqual(names(renamed.unchanged), ['one', 'two']);
  assert.equal(diffConfigs(before, config(server('two'), server('one'))).reordered, true);
  const around = config(server('new'), server('one'), server('two'));
  assert.equal(diffConfigs(before, around).reordered, false, 'one before them is no other order');
  assert.equal(diffConfigs(around, before).reordered, false);
});

test('a change of "tasks" alone is a difference', () => {
  const before = { ...config(server('one')), tasks: readTasks(undefined) };
  const after = { ...before, tasks: { ...before.tasks, queue: 1 } };
  assert.deepEqual(diffConfigs(before, after).hub, ['tasks']);
});

test('keys of the hub that a reload applies are differences with their names', () => {
  const before = config(server('one'));
  const clients = [{ name: 'cursor', administer: true }];
  const difference = diffConfigs(before, { ...before, tokens: 'required', clients });
  assert.deepEqual(difference.hub, ['tokens', 'clients']);
  assert.equal(isSameConfig(difference), false);
  assert.equal(
    isSameConfig(diffConfigs({ ...before, clients }, { ...before, clients: [...clients] })),
    true,
  );
});

test('settings that need a restart are named by their variables, without their values', () => {
  const before = readSettings({ ROUTER_PORT: '9090', ROUTER_TOKEN: 'a'.repeat(20) });
  const after = readSettings({ ROUTER_PORT: '9091', ROUTER_TOKEN: 'b'.repeat(20) });
  assert.deepEqual(settingsToRestartFor(before, after), ['ROUTER_PORT', 'ROUTER_TOKEN']);
  assert.deepEqual(settingsToRestartFor(before, before), []);
});
