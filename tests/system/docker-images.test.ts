import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { type PackageSpec, loadConfig } from '#config';
import { HubError } from '#core';
import { describeWithEngine } from '#helpers/engine';
import type { DockerTarget } from '#runtimes';
import { planLaunch } from '../../hub/servers/plan.ts';
import { askerOf, createHub, docker, factOf, until } from '../runtimes/docker/hub.ts';
import { buildersOf, forget, watchBuild } from './package-builds.ts';

const buildMs = 240_000;
const memory: PackageSpec = {
  ecosystem: 'npm',
  spec: '@modelcontextprotocol/server-memory@2026.8.31',
};
/** A package without dependencies, which is built in a tenth of the time. */
const small: PackageSpec = { ecosystem: 'npm', spec: 'json5@2.2.3' };
/** A program that uses the package and answers once. */
const reader = `
  const name = require('/opt/server/node_modules/json5').parse("'json5'");
  process.stdin.once('data', () => console.log(JSON.stringify({ jsonrpc: '2.0', id: 0, result: name })));`;
const time: PackageSpec = { ecosystem: 'pypi', spec: 'mcp-server-time==2026.10.19' };
const handshake = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
};

const packaged = (source: PackageSpec): Partial<DockerTarget> => ({
  image: { package: source },
  limits: {
    memoryBytes: 256 * 2 ** 20,
    cpus: 1,
    pids: 64,
    scratchBytes: 64 * 2 ** 20,
    volumeBytes: 10 * 2 ** 30,
  },
});

describeWithEngine('images of packages', () => {
  test(
    'a package from npm is built once for all who want it, and serves without a network',
    { timeout: buildMs },
    async () => {
      // A version that is not in the engine's build cache. npm ignores the text after the `+`.
      const source = { ...small, spec: `${small.spec}+${randomUUID().slice(0, 8)}` };
      const target = { ...packaged(source), command: 'node', args: ['-e', reader] };
      await using _image = { [Symbol.asyncDispose]: () => forget(source) };
      await using hub = createHub();
      using watch = await watchBuild(source);
      const [one, other] = await Promise.all([
        hub.launch(hub.spec('one', target)),
        hub.launch(hub.spec('other', target)),
      ]);
      const { length } = await watch.steps();
      assert.equal(length, 1, 'one container of the engine installs the package');
      const began = hub.lines.progress.filter(line => line.startsWith('building an image'));
      const added = hub.lines.progress.filter(line => /^added \d+ package/.test(line));
      assert.equal(began.length, 2, 'both are told of it');
      assert.equal(added.length, 2, 'both hear the one build');
      assert.equal(one.about['image'], other.about['image']);
      assert.match(factOf(one, 'image'), /^agenthub\/npm-json5:2\.2\.3-[0-9a-f]{8}-[0-9a-f]{12}$/);
      const image = await docker.getImage(factOf(one, 'image')).inspect();
      assert.equal(image.Config.User, '1000:1000');
      assert.equal(image.Config.Labels['io.agenthub.package'], source.spec);
      assert.equal(image.Config.Labels['io.agenthub.managed'], 'true');

      for (const instance of [one, other])
        assert.equal(await askerOf(instance).ask('look'), 'json5');
      hub.lines.progress.length = 0;
      await hub.launch(hub.spec('third', target));
      assert.deepEqual(hub.lines.progress, [], 'an image that is there is not built');
    },
  );

  test(
    'a package is installed from a lock, with digests, in bounds and on a network of its own',
    { timeout: buildMs },
    async () => {
      const locks = new Map<string, string>();
      const [npm, pypi]: readonly PackageSpec[] = [
        { ecosystem: 'npm', spec: 'semver@^7.7.0' },
        { ecosystem: 'pypi', spec: 'cowsay==6.1' },
      ];
      assert.ok(npm && pypi);
      for (const source of [npm, pypi]) await forget(source);
      await using hub = createHub({ locks });
      const build = (source: PackageSpec) => hub.build(hub.spec('locked', packaged(source)));

      using watch = await watchBuild(npm);
      await Promise.all([build(npm), build(pypi)]);
      const [Memory, CpuPeriod] = [2 * 2 ** 30, 100_000];
      const bounds = { Memory, MemorySwap: Memory, CpuQuota: 2 * CpuPeriod, CpuPeriod };
      assert.deepEqual(await watch.steps(), [{ bounds, networkOf: hub.id }]);
      assert.deepEqual(await hub.leftovers(), [], 'the network is gone with the build');

      const lockOf = (base: string) => {
        const [name, lock] = [...locks].find(([each]) => each.startsWith(base)) ?? [];
        assert.ok(name !== undefined && lock !== undefined, [...locks.keys()].join(' '));
        return { name, lock };
      };
      assert.match(lockOf('npm-semver@').lock, /"node_modules\/semver":\{.*"integrity":"sha512-/);
      assert.match(lockOf('python-cowsay@').lock, /^cowsay==6\.1 --hash=sha256:[0-9a-f]{64}\n$/);

      // The lock decides, not the current state of the registry.
      for (const source of [npm, pypi]) await forget(source);
      const { name, lock } = lockOf('npm-semver@');
      locks.set(name, lock.replace(/sha512-.{20}/, `sha512-${'A'.repeat(20)}`));
      await assert.rejects(build(npm), /EINTEGRITY/);
      locks.set(name, lock);
      const broken = lockOf('python-cowsay@');
      locks.set(broken.name, broken.lock.replace(/[0-9a-f]{64}/, '0'.repeat(64)));
      const [{ image: tag }] = await Promise.all([
        build(npm),
        assert.rejects(build(pypi), /DO NOT MATCH THE HASHES/),
      ]);
      assert.equal(locks.get(name), lock, 'the lock is not made anew');
      assert.ok(typeof tag === 'string');
      await hub.runtime.upkeep.discard({ kind: 'image', name: tag });
      assert.ok(!locks.has(name), 'and is gone with the image');
    },
  );

  test(
    'a package whose layers the engine still has gets a lock, too',
    { timeout: buildMs },
    async () => {
      const source: PackageSpec = { ecosystem: 'npm', spec: 'mkdirp@^3.0.1' };
      await forget(source);
      const locks = new Map<string, string>();
      await using hub = createHub({ locks });
      const build = () => hub.build(hub.spec('cached', packaged(source)));
      const { image: tag } = await build();
      assert.ok(typeof tag === 'string');
      const { RepoTags } = await docker.getImage(tag).inspect();
      await docker.getImage(tag).tag({ repo: 'agenthub-test-layers', tag: 'kept' });
      await using _kept = { [Symbol.asyncDispose]: () => forget(source) };
      for (const name of RepoTags) await docker.getImage(name).remove();
      locks.clear();
      await build();
      assert.match([...locks.values()].join(' '), /"node_modules\/mkdirp":\{/);
    },
  );

  test('a volume keeps what the server wrote, over its restart', { timeout: buildMs }, async () => {
    await using hub = createHub();
    const target = { ...packaged(memory), volumes: [{ name: 'memory', target: '/data' }] };
    const spec = hub.spec('memory', target, { MEMORY_FILE_PATH: '/data/memory.json' });
    const first = await hub.launch(spec);
    assert.match(
      factOf(first, 'image'),
      /^agenthub\/npm-modelcontextprotocol-server-memory:2026\.8\.31-[0-9a-f]{12}$/,
    );
    const before = askerOf(first);
    const introduced = JSON.stringify(await before.ask('initialize', handshake));
    assert.match(introduced, /"name":"memory-server"/, 'it is the command of the package');
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['wrote notes'] }];
    await before.ask('tools/call', { name: 'create_entities', arguments: { entities } });
    await first.stop({ graceMs: 2000 });

    const after = askerOf(await hub.launch(spec));
    await after.ask('initialize', handshake);
    const graph = await after.ask('tools/call', { name: 'read_graph', arguments: {} });
    assert.match(JSON.stringify(graph), /wrote notes/);
    const volume = await docker.getVolume(`${hub.hubName}-memory`).inspect();
    assert.equal(volume.Labels['io.agenthub.hub'], hub.id);
  });

  test('a package cannot be changed by the server that runs it', { timeout: buildMs }, async () => {
    await using hub = createHub();
    const instance = await hub.launch(
      hub.spec('intruder', {
        ...packaged(memory),
        command: 'node',
        args: [
          '-e',
          `const fs = require('node:fs');
             const stat = path => fs.statSync(path);
             const inside = fs.readdirSync('/opt/server/node_modules', { recursive: true })
               .map(name => '/opt/server/node_modules/' + name)
               .filter(name => fs.existsSync(name) && (stat(name).uid !== 0 || stat(name).mode & 0o022));
             const result = { inside, run: stat('/opt/server/run').uid, data: stat('/data').uid };
             console.log(JSON.stringify({ jsonrpc: '2.0', id: 0, result }));
             process.stdin.resume();`,
        ],
      }),
    );
    const found = await askerOf(instance).ask('look');
    assert.deepEqual(found, { inside: [], run: 0, data: 1000 });
  });

  test('a package from PyPI is built, and answers', { timeout: buildMs }, async () => {
    await using hub = createHub();
    const { ask } = askerOf(await hub.launch(hub.spec('time', packaged(time))));
    await ask('initialize', handshake);
    const now = await ask('tools/call', {
      name: 'get_current_time',
      arguments: { timezone: 'Europe/Berlin' },
    });
    assert.match(JSON.stringify(now), /Europe\/Berlin/);
  });

  test(
    'lines of uvx and npx with more packages and another program become images, and run',
    { timeout: buildMs },
    async () => {
      await using hub = createHub();
      const python =
        'import json, six, cowsay, sys; sys.stdin.readline(); print(json.dumps({"jsonrpc": "2.0", "id": 0, "result": [six.__version__, "cow" in cowsay.char_names, sys.prefix]}), flush=True); sys.stdin.read()';
      const line = ['--python', '3.13', '--with', 'six==1.17.0', '--from', 'cowsay==6.1', 'python'];
      const extra = await hub.launch(
        hub.spec('extra', await targetOf({ command: 'uvx', args: [...line, '-c', python] })),
      );
      assert.deepEqual(await askerOf(extra).ask('look'), ['1.17.0', true, '/opt/server']);

      const { RepoTags } = await docker.getImage(factOf(extra, 'image')).inspect();
      assert.ok(
        RepoTags.some(tag => /\.h-[0-9a-f]{12}$/.test(tag)),
        'other hubs see that this one uses it',
      );

      const args = [`--package=${memory.spec}`, '-y', 'mcp-server-memory'];
      const program = await hub.launch(
        hub.spec('program', await targetOf({ command: 'npx', args })),
      );
      const answer = JSON.stringify(await askerOf(program).ask('initialize', handshake));
      assert.match(answer, /"name":"memory-server"/);
    },
  );

  for (const [what, source, words] of [
    [
      'a package that npm does not have',
      { ecosystem: 'npm', spec: '@modelcontextprotocol/no-such-server@1.0.0' },
      /could not be built:\n(.*\n)*npm error code E404\n/,
    ],
    [
      'a version that npm does not have',
      { ecosystem: 'npm', spec: '@modelcontextprotocol/server-memory@0.0.999' },
      /could not be built:\n(.*\n)*npm error code ETARGET\n/,
    ],
    [
      'a package of npm without a command',
      { ecosystem: 'npm', spec: 'ms@2.1.3' },
      /ms has no command \("bin" in its package.json\), so it cannot be run as a server/,
    ],
    [
      'a version that PyPI does not have',
      { ecosystem: 'pypi', spec: 'mcp-server-time==0.0.999' },
      /ERROR: No matching distribution found for mcp-server-time==0.0.999/,
    ],
    [
      'a package of PyPI without a command',
      { ecosystem: 'pypi', spec: 'typing-extensions==4.16.0' },
      /typing-extensions has no command \(console script\), so it cannot be run as a server/,
    ],
  ] as const)
    test(`${what} fails with the words of the installer`, { timeout: buildMs }, async () => {
      await using hub = createHub();
      await assert.rejects(hub.launch(hub.spec('unbuilt', packaged(source))), (error: unknown) => {
        assert.ok(error instanceof HubError, String(error));
        assert.equal(error.code, 'HUB_IMAGE_BUILD_FAILED');
        assert.match(error.message, words);
        assert.ok(error.message.startsWith(`the image for ${source.spec} could not be built:\n`));
        return true;
      });
      assert.deepEqual(await hub.leftovers(), []);
      assert.deepEqual(await buildersOf(source), [], 'the step that failed leaves no container');
    });

  test(
    'a build that is aborted ends at once, and leaves no container',
    { timeout: buildMs },
    async () => {
      await using hub = createHub();
      const source = { ...time, spec: `${time.spec},>=0.${Date.now()}` };
      const abort = new AbortController();
      const launched = hub.launch(hub.spec('given-up', packaged(source)), abort.signal);
      const refused = assert.rejects(
        launched,
        (error: unknown) => error instanceof HubError && error.code === 'HUB_CALL_CANCELLED',
      );
      await until('the build runs', async () => (await buildersOf(source)).length > 0, 60_000);
      abort.abort();
      await refused;
      await until('the build is over', async () => (await buildersOf(source)).length === 0, 60_000);
      // The engine does not remove a network while a build step is attached to it.
      await until('nothing is left', async () => (await hub.leftovers()).length === 0, 10_000);
    },
  );
});

/** Returns the launch target in Docker of an entry of the config. */
async function targetOf(entry: object): Promise<Partial<DockerTarget>> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'agenthub-lines-'));
  const file = join(folder.path, 'hub.json');
  await writeFile(file, JSON.stringify({ servers: { line: entry } }));
  const { servers } = await loadConfig(file, { env: {}, home: folder.path });
  const [config] = servers;
  assert.ok(config);
  const { target } = planLaunch(config, { auto: 'docker', dataDir: folder.path });
  assert.ok(target.kind === 'docker');
  return { ...target, volumes: [] };
}
