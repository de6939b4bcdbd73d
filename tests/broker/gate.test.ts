import assert from 'node:assert/strict';
import { mkdir, mkdtemp, realpath, rename, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { createGate } from '../../hub/broker/gate.ts';
import { bodyOf } from '../../hub/runtimes/docker/egress/container.ts';
import { containerBody, owner } from './bodies.ts';

const { hubId, hubName } = owner;
const ours = { 'io.agenthub.hub': hubId, 'io.agenthub.managed': 'true' };
const theirs = { 'io.agenthub.hub': 'other', 'io.agenthub.managed': 'true' };
const unknown = { code: 'HUB_BROKER_UNKNOWN' };
const refused = (message: RegExp) => ({ code: 'HUB_BROKER_REFUSED', message });

let root = '';
beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'broker-gate-')));
  await mkdir(join(root, 'notes/deep'), { recursive: true });
  await symlink(join(root, 'notes'), join(root, 'link'));
});
afterAll(() => rm(root, { recursive: true }));

/** Answers of the engine about its objects, by path. All other paths are unknown to it. */
const objects: Readonly<Record<string, unknown>> = {
  '/containers/ours/json': { Id: 'c1', Config: { Labels: ours } },
  '/containers/theirs/json': { Id: 'c2', Config: { Labels: theirs } },
  [`/networks/${hubName}-net`]: { Id: 'n1', Labels: ours },
  [`/networks/${hubName}-new`]: { Id: 'n4', Labels: ours },
  '/networks/n4': {
    Id: 'n4',
    Internal: true,
    Options: { 'com.docker.network.bridge.gateway_mode_ipv4': 'isolated' },
  },
  [`/networks/${hubName}-plain`]: { Id: 'n5', Labels: ours },
  '/networks/n5': { Id: 'n5', Internal: true, Options: {} },
  [`/networks/${hubName}-.build-0123456789ab`]: { Id: 'n6', Labels: ours },
  [`/networks/${hubName}-theirs`]: { Id: 'n2', Labels: theirs },
  '/networks/host': { Id: 'n3', Labels: {} },
  '/volumes/ours': { Name: 'ours', Labels: ours },
  [`/volumes/${hubName}-theirs`]: { Name: `${hubName}-theirs`, Labels: theirs },
  '/images/agenthub/npm-ours:1/json': { Config: { Labels: { 'io.agenthub.managed': 'true' } } },
  '/images/agenthub/npm-plain:1/json': { Config: { Labels: {} } },
  [`/containers/json?all=1&filters=${encodeURIComponent('{"label":["io.agenthub.managed=true"]}')}`]:
    [],
  '/info': { DockerRootDir: '/var/lib/docker' },
  '/system/df?type=volume': {
    Volumes: [
      { Name: 'mine', Labels: ours, UsageData: { Size: 1 }, Mountpoint: '/secret' },
      { Name: 'others', Labels: theirs, UsageData: { Size: 2 } },
    ],
  },
};

type Call = {
  readonly body?: unknown;
  readonly more?: Readonly<Record<string, unknown>>;
  readonly lock?: string;
  /** Path that the engine answers with status 500. */
  readonly failing?: string;
};

/** Creates a gate, and records what it requests in addition to the engine's objects. */
function open({ body, more = {}, lock, failing }: Call = {}) {
  const bounds: (number | undefined)[] = [];
  const contexts: (readonly [string, string | undefined])[] = [];
  const asked: string[] = [];
  const gate = createGate(
    { ...owner, mountRoots: [root], registries: ['docker.io'], imagesDir: '/images' },
    {
      engine: {
        async getJson(path) {
          asked.push(path);
          if (path === failing) return { status: 500, body: {} };
          const found = more[path] ?? objects[path];
          return { status: found === undefined ? 404 : 200, body: found };
        },
      },
      async readBuildContext(folder, given) {
        contexts.push([folder, given]);
        return Buffer.from('context');
      },
      readLock: () => lock,
    },
  );
  const readBody = async (maxBytes?: number) => {
    bounds.push(maxBytes);
    return typeof body === 'string' ? body : JSON.stringify(body);
  };
  return {
    bounds,
    contexts,
    asked,
    admit: (method: string, target: string) => gate({ method, target, readBody }),
  };
}

const admit = (method: string, target: string, call: Call = {}) => open(call).admit(method, target);
const create = (call: Call, name = 'new') =>
  admit('POST', `/v1.43/containers/create?name=${hubName}-${name}`, call);

/** Returns the `HostConfig` of a creation, as the gate passes it on. */
const hostOf = ({ body }: Awaited<ReturnType<typeof create>>) =>
  JSON.parse(String(body?.content)).HostConfig;

describe('a call for an object of this hub', () => {
  test.each([
    ['GET', '/containers/ours/json', '/containers/c1/json'],
    ['POST', '/v1.43/containers/ours/stop?t=5', '/v1.43/containers/c1/stop?t=5'],
    ['DELETE', '/containers/ours?force=1&v=1', '/containers/c1?force=1&v=1'],
    ['POST', '/containers/ours/start', '/containers/c1/start'],
    ['DELETE', `/networks/${hubName}-net`, '/networks/n1'],
    ['DELETE', '/volumes/ours', '/volumes/ours'],
  ])('%s %s names it by its id', async (method, target, path) => {
    assert.deepEqual(await admit(method, target), { method, path, hijack: false });
  });

  test('is a raw stream where it attaches', async () => {
    const { path, hijack } = await admit('POST', '/containers/ours/attach?stream=1');
    assert.deepEqual([path, hijack], ['/containers/c1/attach?stream=1', true]);
  });

  test.each([
    ['GET', '/containers/theirs/json'],
    ['POST', '/containers/theirs/start'],
    ['POST', '/containers/theirs/attach'],
    ['DELETE', `/networks/${hubName}-theirs`],
    ['DELETE', `/volumes/${hubName}-theirs`],
    ['GET', '/containers/absent/json'],
  ])('%s %s finds no object of others, and none that is absent', async (method, target) => {
    await assert.rejects(admit(method, target), unknown);
  });

  test('with a bad parameter is refused before the engine is asked', async () => {
    const { asked, admit: gate } = open();
    await assert.rejects(gate('DELETE', '/containers/theirs?link=1'), refused(/parameter "link"/));
    await assert.rejects(gate('POST', '/containers/theirs/start?x=1'), refused(/parameter "x"/));
    assert.deepEqual(asked, []);
  });
});

describe('a container', () => {
  const mounting = (Source: string) => ({
    '/containers/c1/json': {
      HostConfig: { Binds: null, Mounts: [{ Type: 'bind', Source, ReadOnly: false }] },
    },
  });
  const start = (source: string) =>
    admit('POST', '/containers/ours/start', { more: mounting(source) });

  test('is started if its folder is still the one that was checked', async () => {
    assert.equal((await start(join(root, 'notes'))).path, '/containers/c1/start');
  });

  test('is not started while a link has taken the place of its folder', async () => {
    const folder = join(root, 'swapped');
    await symlink(join(root, 'notes'), folder);
    await assert.rejects(start(folder), refused(/it has become a link to ".*notes"/));
    await rename(folder, join(root, 'gone'));
    await assert.rejects(start(folder), refused(/it is not there/));
  });
});

describe('a pull', () => {
  test('of a registry on the list is passed on', async () => {
    const { path } = await admit('POST', '/images/create?fromImage=node&tag=24');
    assert.equal(path, '/images/create?fromImage=node&tag=24');
  });

  test.each(['fromImage=evil.example/x&tag=1', 'fromImage=evil.example%2Fx'])(
    'of %s is refused',
    async query => {
      await assert.rejects(admit('POST', `/images/create?${query}`), refused(/"evil\.example"/));
    },
  );
});

describe('an image', () => {
  const tag = 'repo=agenthub/npm-ours&tag=1.h-0123456789ab';

  test('that a hub has built can be removed and marked as in use', async () => {
    const removed = await admit('DELETE', '/v1.43/images/agenthub/npm-ours:1');
    assert.equal(removed.path, '/v1.43/images/agenthub/npm-ours:1');
    const marked = await admit('POST', `/images/agenthub/npm-ours:1/tag?${tag}`);
    assert.match(marked.path, /^\/images\/agenthub\/npm-ours:1\/tag\?repo=/);
  });

  test('that no hub has built can be neither removed nor marked', async () => {
    await assert.rejects(admit('DELETE', '/images/agenthub/npm-plain:1'), unknown);
    await assert.rejects(admit('POST', `/images/agenthub/npm-absent:1/tag?${tag}`), unknown);
  });
});

test.each([
  ['/containers/json?all=1', { label: [`io.agenthub.hub=${hubId}`] }],
  ['/networks', { label: [`io.agenthub.hub=${hubId}`] }],
  [
    `/events?filters=${encodeURIComponent('{"event":["die"],"label":["a"]}')}`,
    { event: ['die'], label: [`io.agenthub.hub=${hubId}`, 'a'] },
  ],
])('%s returns objects of this hub only', async (target, filters) => {
  const { path } = await admit('GET', target);
  const query = new URL(path, 'http://engine').searchParams;
  assert.deepEqual(JSON.parse(query.get('filters') ?? ''), filters);
});

test('a list of images has only those that hubs built', async () => {
  for (const more of ['', '?filters={}', '?filters={"label":["other"]}']) {
    const { path } = await admit('GET', `/images/json${more}`);
    const query = new URL(path, 'http://engine').searchParams;
    assert.equal(
      query.toString(),
      new URLSearchParams({ filters: '{"label":["io.agenthub.managed=true"]}' }).toString(),
    );
  }
  await assert.rejects(admit('GET', '/images/json?all=1'), refused(/parameter "all"/));
});

test('the parameters of a list are checked beside its filters', async () => {
  await assert.rejects(admit('GET', '/containers/json?size=1'), refused(/parameter "size"/));
});

test('the sizes of volumes of this hub are answered by the broker, without their paths', async () => {
  const { answer } = await admit('GET', '/system/df?type=volume');
  assert.deepEqual(answer, { Volumes: [{ Name: 'mine', UsageData: { Size: 1 } }] });
  await assert.rejects(admit('GET', '/system/df'), refused(/without type=volume/));
});

test('the limits that the engine keeps are answered by the broker, and nothing else of its description', async () => {
  const limits = { MemoryLimit: false, CpuCfsQuota: true, PidsLimit: true };
  const more = { '/info': { ...limits, DockerRootDir: '/secret', Name: 'host' } };
  const { answer } = await admit('GET', '/info', { more });
  assert.deepEqual(answer, limits);
  await assert.rejects(admit('GET', '/info', { failing: '/info' }), { code: 'HUB_ENGINE_REFUSED' });
});

describe('a container is created', () => {
  test('from its checked body, under its name, in its network by id', async () => {
    const body = containerBody({ NetworkMode: `${hubName}-new` });
    const call = await create({ body });
    assert.equal(call.path, `/v1.43/containers/create?name=${hubName}-new`);
    assert.equal(call.body?.type, 'application/json');
    const { NetworkMode, Privileged } = hostOf(call);
    assert.deepEqual({ NetworkMode, Privileged }, { NetworkMode: 'n4', Privileged: false });
  });

  test('on the folder that a link leads to, and on volumes that do not exist yet', async () => {
    const mount = { Target: '/x', ReadOnly: true };
    const volume = { Type: 'volume', Source: `${hubName}-new`, Target: '/y', ReadOnly: false };
    const body = containerBody({
      Mounts: [{ ...mount, Type: 'bind', Source: join(root, 'link') }, volume],
    });
    const { Mounts } = hostOf(await create({ body }));
    assert.deepEqual(Mounts[0], { ...mount, Type: 'bind', Source: join(root, 'notes') });
    assert.equal(Mounts[1].VolumeOptions.Labels['io.agenthub.hub'], hubId);
  });

  test('and its folders are reserved until the engine has answered', async () => {
    const mounting = (Source: string) =>
      containerBody({ Mounts: [{ Type: 'bind', Source, Target: '/x', ReadOnly: false }] });
    let body = mounting(join(root, 'notes'));
    const gate = createGate(
      { ...owner, mountRoots: [root], registries: [], imagesDir: '' },
      {
        engine: {
          getJson: async path => ({ status: 200, body: path === '/info' ? {} : [] }),
        },
        readBuildContext: () => assert.fail('nothing is built'),
        readLock: () => assert.fail('nothing is built'),
      },
    );
    const make = (name: string) =>
      gate({
        method: 'POST',
        target: `/containers/create?name=${hubName}-${name}`,
        readBody: async () => JSON.stringify(body),
      });
    const { done } = await make('outer');
    body = mounting(join(root, 'link/deep'));
    await assert.rejects(make('inner'), refused(/beside a writable mount/));
    done?.();
    await make('inner');
  });

  test('but not on the data of an engine whose folder is below a root', async () => {
    const data = join(root, 'engine');
    await mkdir(join(data, 'volumes'), { recursive: true });
    const more = { '/info': { DockerRootDir: data } };
    const on = (Source: string) =>
      create({ body: containerBody({ Mounts: [{ ...bind, Source }] }), more });
    const bind = { Type: 'bind', Target: '/x', ReadOnly: true };
    for (const Source of [root, data, join(data, 'volumes')])
      await assert.rejects(on(Source), refused(/the engine keeps its data in ".*\/engine"/));
    await on(join(root, 'notes'));
  });

  test('but not while the engine does not say where its data is', async () => {
    const mount = { Type: 'bind', Source: join(root, 'notes'), Target: '/x', ReadOnly: true };
    const body = containerBody({ Mounts: [mount] });
    const target = `/containers/create?name=${hubName}-new`;
    (await open({ body }).admit('POST', target)).done?.();
    const silent = open({ body, failing: '/info' });
    await assert.rejects(silent.admit('POST', target), { code: 'HUB_ENGINE_REFUSED' });
  });

  const build = `${hubName}-.build-0123456789ab`;
  test.each<[string, object, object, string?]>([
    ['in the network of another hub', { NetworkMode: `${hubName}-theirs` }, unknown, 'theirs'],
    ['in no network that exists', { NetworkMode: `${hubName}-absent` }, unknown, 'absent'],
    [
      'in the network of another server',
      { NetworkMode: `${hubName}-net` },
      refused(/must be its own/),
    ],
    [
      'in the network of another agent',
      { NetworkMode: 'agent-host-net-reader' },
      refused(/must be its own, "agent-host-net-writer"/),
      '.agent-writer',
    ],
    ['in the network of builds', { NetworkMode: build }, refused(/must be its own/)],
    ['under the name of a build', { NetworkMode: build }, refused(/"name"/), '.build-0123456789ab'],
    ['in that of the forwarder', { NetworkMode: `${hubName}-.egress` }, refused(/must be its own/)],
    ['in a plain network', { NetworkMode: `${hubName}-plain` }, refused(/not isolated/), 'plain'],
    [
      'on the volume of another',
      { Mounts: [{ Type: 'volume', Source: `${hubName}-theirs`, Target: '/x' }] },
      refused(/belongs to the hub "other"/),
    ],
    [
      'on a folder outside of the roots',
      { Mounts: [{ Type: 'bind', Source: '/etc', Target: '/x', ReadOnly: true }] },
      refused(/not below a mount root/),
    ],
  ])('but not %s', async (_, host, error, name) => {
    await assert.rejects(create({ body: containerBody(host) }, name), error);
  });

  test.each(['', '?name=redis', `?name=${hubName}-x&platform=y`])(
    'but not by the parameters "%s"',
    async query => {
      const call = { body: containerBody() };
      const error = refused(/a container without a name|the parameter/);
      await assert.rejects(admit('POST', `/containers/create${query}`, call), error);
    },
  );
});

test('a network is created as a bridge of this hub', async () => {
  const call = { body: { Name: `${hubName}-.egress` } };
  const { path, body } = await admit('POST', '/networks/create', call);
  assert.equal(path, '/networks/create');
  assert.deepEqual(JSON.parse(String(body?.content)), {
    Name: `${hubName}-.egress`,
    Driver: 'bridge',
    Labels: ours,
  });
  await assert.rejects(admit('POST', '/networks/create?x=1', call), refused(/parameter "x"/));
});

describe('the forwarder', () => {
  const forwarder = `${hubName}-.egress`;
  const more = {
    [`/containers/${forwarder}/json`]: { Id: 'f1', Config: { Labels: ours } },
    [`/networks/${forwarder}`]: { Id: 'fn1', Labels: ours },
  };

  test('is created in its own network, with a body of its own', async () => {
    const body = bodyOf(owner, 'agenthub/egress:0123456789ab');
    const call = { body, more };
    const admitted = await create(call, '.egress');
    assert.equal(hostOf(admitted).NetworkMode, 'fn1');
    await assert.rejects(create(call, 'other'), refused(/./));
    await assert.rejects(
      create({ ...call, body: containerBody() }, '.egress'),
      refused(/of the forwarder/),
    );
  });

  test('joins and leaves networks of this hub only', async () => {
    const joining = {
      Container: forwarder,
      EndpointConfig: { IPAMConfig: { IPv4Address: '10.213.0.1' } },
    };
    const { path, body } = await admit('POST', `/networks/${hubName}-net/connect`, {
      body: joining,
      more,
    });
    assert.equal(path, '/networks/n1/connect');
    assert.deepEqual(JSON.parse(String(body?.content)), { ...joining, Container: 'f1' });
    const leaving = { body: { Container: forwarder, Force: true }, more };
    const left = await admit('POST', `/networks/${hubName}-net/disconnect`, leaving);
    assert.equal(left.path, '/networks/n1/disconnect');
    for (const call of ['connect', 'disconnect'])
      await assert.rejects(admit('POST', `/networks/${hubName}-theirs/${call}`, leaving), unknown);
    await assert.rejects(
      admit('POST', `/networks/${hubName}-net/disconnect`, { body: leaving.body }),
      unknown,
    );
  });
});

describe('a build', () => {
  const target = (network?: string) => {
    const query = new URLSearchParams({
      t: 'agenthub/npm-x:1',
      buildargs: '{"PACKAGE":"x"}',
      labels: '{"io.agenthub.base":"npm"}',
    });
    if (network !== undefined) query.set('networkmode', network);
    return `/build?${query.toString()}`;
  };
  const networkIn = (path: string) =>
    new URL(path, 'http://engine').searchParams.get('networkmode');
  const lock = JSON.stringify({ lockfileVersion: 3, packages: {} });

  test("is made of the broker's own files and the lock of the client", async () => {
    const { admit: gate, contexts, bounds } = open({ body: 'evil', lock });
    const { path, body } = await gate('POST', target());
    assert.equal(networkIn(path), 'none');
    assert.deepEqual(body, { type: 'application/x-tar', content: Buffer.from('context') });
    assert.deepEqual(contexts, [['/images/npm', lock]]);
    assert.deepEqual(bounds, [8 * 2 ** 20]);
  });

  test('runs in a network for builds of this hub only', async () => {
    const { path } = await admit('POST', target(`${hubName}-.build-0123456789ab`), { body: '' });
    assert.equal(networkIn(path), 'n6');
    await assert.rejects(
      admit('POST', target(`${hubName}-net`), { body: '' }),
      refused(/not one of builds/),
    );
    for (const network of ['host', 'bridge', `${hubName}-theirs`])
      await assert.rejects(admit('POST', target(network), { body: '' }), unknown);
  });

  test('is made on system packages only if a hub has built their image: the engine would pull another', async () => {
    const BASE = 'agenthub/system-node:0123456789ab';
    const query = new URLSearchParams({
      t: 'agenthub/npm-x:1',
      buildargs: JSON.stringify({ PACKAGE: 'x', BASE }),
      labels: '{"io.agenthub.base":"npm"}',
    });
    const build = (more: Readonly<Record<string, unknown>>) =>
      admit('POST', `/build?${query.toString()}`, { body: '', more });
    const path = `/images/${BASE}/json`;
    await build({ [path]: { Config: { Labels: { 'io.agenthub.managed': 'true' } } } });
    await assert.rejects(build({}), unknown);
    await assert.rejects(build({ [path]: { Config: { Labels: {} } } }), unknown);
  });

  test('takes nothing from elsewhere by its lock', async () => {
    const call = { body: '', lock: '{"lockfileVersion":1}' };
    await assert.rejects(admit('POST', target(), call), refused(/lock of a build/));
  });
});

test('what the hub never asks for is refused', async () => {
  for (const [method, path] of [
    ['POST', '/containers/ours/exec'],
    ['PUT', '/containers/ours/archive'],
    ['POST', '/volumes/create'],
    ['GET', '/swarm'],
  ] as const)
    await assert.rejects(admit(method, path), refused(/does not admit/));
});

describe('the workspace of an agent', () => {
  const mount = {
    Type: 'volume',
    Source: owner.dataVolume,
    Target: '/workspace',
    ReadOnly: false,
    VolumeOptions: { NoCopy: true, Subpath: 'agents/ada/workspace' },
  };
  const image = { Image: 'agenthub/agent:0123456789ab' };
  const engineOf = (Version: string) => ({ '/version': { Version } });
  const of = (change: object = {}, rest: object = image, version = '28.5.2') => ({
    body: containerBody({ Mounts: [{ ...mount, ...change }] }, rest),
    more: engineOf(version),
  });

  test('is mounted for its agent, without the rest of the volume', async () => {
    const { Mounts } = hostOf(await create(of(), '.agent-ada'));
    assert.deepEqual(Mounts, [mount]);
  });

  test('comes with a bound on the size of files', async () => {
    const Ulimits = [{ Name: 'fsize', Soft: 2 ** 30, Hard: 2 ** 30 }];
    const body = containerBody({ Mounts: [mount], Ulimits }, image);
    const call = { body, more: engineOf('26.0.0') };
    assert.deepEqual(hostOf(await create(call, '.agent-ada')).Ulimits, Ulimits);
    const more = containerBody({ Ulimits: [{ Name: 'nproc', Soft: 2 ** 30, Hard: 2 ** 30 }] });
    await assert.rejects(create({ body: more }), refused(/Ulimits/));
  });

  test.each<[string, ReturnType<typeof of>, string]>([
    ['another agent', of(), '.agent-bob'],
    ['a server', of(), 'ada'],
    ['another image', of({}, { Image: 'node:24' }), '.agent-ada'],
    ['an image of a like name', of({}, { Image: 'agenthub/agent:latest' }), '.agent-ada'],
    ['an engine that would mount the whole volume', of({}, image, '25.0.5'), '.agent-ada'],
    ['an engine without a version', of({}, image, ''), '.agent-ada'],
  ])('is refused to %s', async (_, call, name) => {
    await assert.rejects(create(call, name), { code: 'HUB_BROKER_REFUSED' });
  });

  test.each([
    ['all of the data', { VolumeOptions: { NoCopy: true } }],
    ['another folder', { VolumeOptions: { Subpath: 'agents/ada' } }],
    ['the folder above', { VolumeOptions: { Subpath: 'agents/../workspace' } }],
    ['nothing as the path', { VolumeOptions: { Subpath: '' } }],
    ['another volume', { Source: `${hubName}_redis-data` }],
    ['a volume of a server', { Source: `${hubName}-theirs` }],
    ['another place', { Target: '/opt' }],
    ['options of a driver', { VolumeOptions: { ...mount.VolumeOptions, DriverConfig: {} } }],
  ])('cannot be used for %s', async (_, change) => {
    await assert.rejects(create(of(change), '.agent-ada'), { code: 'HUB_BROKER_REFUSED' });
  });
});
