import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import { type ServerConfig, createProcessGate, loadConfig } from '#config';
import { configOf } from '#helpers/hub';
import { temporary } from './editing.ts';

const at = async (folder: string, servers: object) => {
  const file = join(folder, 'hub.json');
  await writeFile(file, JSON.stringify({ servers }));
  return await loadConfig(file, { env: {}, home: folder });
};

const shell = (...args: readonly string[]) => ({ command: '/bin/sh', args, runtime: 'process' });
const image = { image: 'any:1' };

test('a process that a reload adds waits for approval, and the rest of the reload applies', async () => {
  await using folder = await temporary();
  const gate = createProcessGate(await at(folder.path, { old: shell('a'), boxed: image }));
  const started = { old: shell('a'), boxed: image };
  const states = async (servers: object) =>
    gate
      .hold(await at(folder.path, servers))
      .servers.map(({ name, enabled, heldBack, launch }) => [
        name,
        launch.kind === 'local' && launch.runtime,
        enabled,
        heldBack === undefined ? '' : 'waits',
      ]);

  assert.deepEqual(await states({ ...started, more: image }), [
    ['old', 'process', true, ''],
    ['boxed', 'auto', true, ''],
    ['more', 'auto', true, ''],
  ]);
  assert.deepEqual(
    await states({ ...started, boxed: shell('b'), fresh: shell('c'), more: image }),
    [
      ['old', 'process', true, ''],
      ['boxed', 'auto', true, 'waits'],
      ['fresh', 'process', false, 'waits'],
      ['more', 'auto', true, ''],
    ],
  );
  assert.equal(gate.allow('more'), false);
  assert.equal(gate.allow('fresh'), true);
  assert.deepEqual(await states({ ...started, boxed: shell('b'), fresh: shell('c') }), [
    ['old', 'process', true, ''],
    ['boxed', 'auto', true, 'waits'],
    ['fresh', 'process', true, ''],
  ]);
  // A process with another command line or environment counts as another program.
  for (const changed of [shell('d'), { ...shell('c'), env: { NODE_OPTIONS: '--import=/x' } }])
    assert.deepEqual(await states({ fresh: changed }), [['fresh', 'process', true, 'waits']]);
  assert.deepEqual(await states({ fresh: { ...shell('c'), timeout: 5 } }), [
    ['fresh', 'process', true, ''],
  ]);
  // A server that was disabled when the hub started has not run yet.
  const off = createProcessGate(await at(folder.path, { one: { ...shell(), enabled: false } }));
  const [one] = off.hold(await at(folder.path, { one: shell() })).servers;
  assert.ok(one?.enabled === false && one.heldBack?.endsWith('agenthub reload --allow one'));
});

const naming = { separator: '_', maxLength: 46 } as const;
const config = (...servers: readonly ServerConfig[]) => ({ servers, naming });
const versionOf = (version: number, more: Partial<ServerConfig> = {}) => ({
  ...configOf({ name: 'one', args: [`--token=s3cret-${version}`] }),
  ...more,
});

test('an entry that returns to an approved version does not wait', () => {
  const gate = createProcessGate(config(versionOf(0)));
  assert.ok(gate.hold(config(versionOf(1))).servers[0]?.heldBack);
  assert.deepEqual(gate.waiting, ['one']);
  assert.equal(gate.hold(config(versionOf(0))).servers[0]?.heldBack, undefined);
  assert.deepEqual(gate.waiting, []);
  assert.equal(gate.allow('one'), false, 'nothing waits any more');
});

test('while a change waits, the last approved version stays, with its other settings', () => {
  const gate = createProcessGate(config(versionOf(0)));
  gate.hold(config(versionOf(0, { tags: ['applied'] })));
  for (const version of [1, 2]) {
    const [held] = gate.hold(config(versionOf(version, { tags: ['waits'] }))).servers;
    assert.deepEqual(held?.launch, versionOf(0).launch);
    assert.deepEqual(held.tags, ['applied']);
  }
});

test('the reason names the program of a waiting entry, but no arguments, which may be secrets', () => {
  const gate = createProcessGate(config());
  const [held] = gate.hold(config(versionOf(1))).servers;
  assert.match(held?.heldBack ?? '', /run ".*node" with 2 arguments on this machine/);
  assert.doesNotMatch(held?.heldBack ?? '', /s3cret/);
  assert.equal(held?.enabled, false);
});

test('a remote server and a disabled one do not wait', () => {
  const gate = createProcessGate(config());
  const { servers } = gate.hold(
    config(configOf({ name: 'far', url: 'http://far.test/mcp' }), versionOf(1, { enabled: false })),
  );
  assert.deepEqual(
    servers.map(({ heldBack }) => heldBack),
    [undefined, undefined],
  );
});

test('the last 20 approved entries of a server are remembered, each once', () => {
  const gate = createProcessGate(config());
  const waits = (version: number) =>
    gate.hold(config(versionOf(version))).servers[0]?.heldBack !== undefined;
  for (let version = 0; version < 20; version++) gate.accept(versionOf(version));
  for (let time = 0; time < 20; time++) gate.accept(versionOf(19));
  assert.equal(waits(0), false);
  gate.accept(versionOf(20));
  assert.equal(waits(0), true);
  assert.equal(waits(1), false);
});

test('a new value of a secret needs no approval, but another secret does', async () => {
  await using folder = await temporary();
  const file = join(folder.path, 'hub.json');
  const load = async (name: string, value: string) => {
    const entry = { ...shell('${secret:ARG}'), env: { A: `x\${secret:${name}}` } };
    await writeFile(file, JSON.stringify({ servers: { one: entry } }));
    const secrets = async () => new Map(['ARG', name].map(each => [each, { value }]));
    return await loadConfig(file, { env: {}, home: folder.path, secrets });
  };
  const gate = createProcessGate(await load('KEY', 'old'));
  const heldBack = async (name: string, value: string) =>
    gate.hold(await load(name, value)).servers[0]?.heldBack !== undefined;
  assert.equal(await heldBack('KEY', 'new'), false);
  assert.equal(await heldBack('OTHER', 'new'), true);
});

test('a client that gets administration waits, even if it had it with another token', async () => {
  await using folder = await temporary();
  const file = join(folder.path, 'hub.json');
  const read = async (clients: object) => {
    await writeFile(file, JSON.stringify({ servers: {}, clients }));
    return await loadConfig(file, { env: {}, home: folder.path });
  };
  const token = (digit: string) => `sha256:${digit.repeat(64)}`;
  const admin = { administer: true, token: token('a') };
  const gate = createProcessGate(await read({ admin, plain: {} }));
  const administrators = async (clients: object) =>
    (gate.hold(await read(clients)).clients ?? [])
      .filter(({ administer }) => administer)
      .map(({ name }) => name);

  assert.deepEqual(await administrators({ admin, plain: {} }), ['admin']);
  const raised = { admin: { ...admin, token: token('b') }, plain: { administer: true } };
  assert.deepEqual(await administrators(raised), []);
  assert.deepEqual(gate.waiting, ['client:admin', 'client:plain']);
  const [, plain] = gate.hold(await read(raised)).clients ?? [];
  assert.match(plain?.heldBack ?? '', /agenthub reload --allow client:plain$/);
  assert.equal(gate.allow('plain'), false, 'that would be a server');
  assert.equal(gate.allow('client:plain'), true);
  assert.deepEqual(await administrators(raised), ['plain']);
  assert.deepEqual(await administrators({ admin, plain: {} }), ['admin'], 'as at the start');
  assert.deepEqual(gate.waiting, []);
});
