import assert from 'node:assert/strict';
import { test } from 'vitest';
import { HubError } from '#core';
import { describeWithEngine } from '#helpers/engine';
import { engineHost } from '#helpers/engine-probe';
import type { Instance } from '#runtimes';
import {
  answering,
  askerOf,
  createHub,
  docker,
  factOf,
  script,
  until,
} from '../runtimes/docker/hub.ts';

const echo = answering('params => params');
const inspect = (instance: Instance) =>
  docker.getContainer(factOf(instance, 'containerId')).inspect();
const fails = (code: string, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof HubError, String(error));
  assert.equal(error.code, code, error.message);
  assert.match(error.message, message);
  return true;
};

describeWithEngine('a server in a container', () => {
  test('answers what it is asked, writes to the log, stops, and leaves nothing behind', async () => {
    await using hub = createHub();
    const target = script(`
      console.error('ready\\nset'); console.error('x'.repeat(9000));
      process.stdin.pipe(process.stdout)`);
    const instance = await hub.launch(hub.spec('echo', target));
    const { ask } = askerOf(instance);
    instance.channel.send(Buffer.from('{"jsonrpc":"2.0","id":7,"result":"ünï"}'));
    assert.equal(await ask('x').catch(String), 'ünï');
    await until('three lines of stderr', () => hub.lines.stderr.length === 3);
    assert.deepEqual(hub.lines.stderr, ['ready', 'set', 'x'.repeat(4096)]);
    assert.deepEqual(instance.about, {
      containerId: (await inspect(instance)).Id.slice(0, 12),
      containerName: `${hub.hubName}-echo`,
      image: 'node:24-bookworm-slim',
    });

    const [first, second] = await Promise.all([
      instance.stop({ graceMs: 3000 }),
      instance.stop({ graceMs: 3000 }),
    ]);
    assert.equal(first, second);
    assert.deepEqual(first, { code: 143, signal: 'SIGTERM', detail: 'ended by SIGTERM' });
    assert.deepEqual(await instance.exited, first);
    assert.deepEqual(await instance.channel.closed, { reason: 'stopped' });
    assert.deepEqual(await hub.leftovers(), []);
  });

  test('has the same host name in each container', async () => {
    await using hub = createHub();
    const names = answering("() => require('node:os').hostname()");
    for (const attempt of [1, 2]) {
      const instance = await hub.launch(hub.spec('names', names));
      assert.equal(await askerOf(instance).ask('x'), 'mcp-names', `container ${attempt}`);
      await instance.stop({ graceMs: 3000 });
    }
  });

  test('passes lines of many frames, both ways, byte by byte as they were', async () => {
    await using hub = createHub();
    const instance = await hub.launch(hub.spec('big', echo));
    const { ask } = askerOf(instance);
    const text = 'grün🦊'.repeat(400_000);
    assert.equal(await ask('echo', text), text);
    const many = await Promise.all(Array.from({ length: 200 }, (_, index) => ask('echo', index)));
    assert.deepEqual(
      many,
      Array.from({ length: 200 }, (_, index) => index),
    );
  });

  test('is killed when it ignores SIGTERM for longer than the grace', async () => {
    await using hub = createHub();
    const target = answering("(process.on('SIGTERM', () => {}), params => params)");
    const instance = await hub.launch(hub.spec('stubborn', target));
    await askerOf(instance).ask('ready');
    const started = performance.now();
    const exit = await instance.stop({ graceMs: 900 });
    assert.deepEqual(exit, { code: 137, signal: 'SIGKILL', detail: 'ended by SIGKILL' });
    assert.ok(performance.now() - started >= 900);
    assert.deepEqual(await hub.leftovers(), []);
  });

  test('ends by itself where that takes less than the grace, and is heard to the last', async () => {
    await using hub = createHub();
    const target = answering(`(process.on('SIGTERM', () => {
      console.error('writing back');
      setTimeout(() => { console.error('written back'); process.exit(0); }, 4000);
    }), params => params)`);
    const instance = await hub.launch(hub.spec('careful', target));
    await askerOf(instance).ask('ready');
    const stopped = instance.stop({ graceMs: 15_000 });
    assert.throws(() => instance.channel.send(Buffer.from('{}')), { code: 'HUB_SERVER_DOWN' });
    assert.deepEqual(await stopped, { code: 0, detail: 'exited with code 0' });
    assert.deepEqual(hub.lines.stderr, ['writing back', 'written back']);
    assert.deepEqual(await hub.leftovers(), []);
  });

  test('that exits by itself is told with its code, its last words, and is removed', async () => {
    await using hub = createHub();
    const target = script(`
      process.stdout.write('{"jsonrpc":"2.0","id":1,"result":"last"}\\n');
      process.stderr.write('no licence');
      process.exitCode = 3`);
    const instance = await hub.launch(hub.spec('brief', target));
    const results: string[] = [];
    instance.channel.listen({
      message: message => results.push(message.bytes.toString()),
      oversized: () => assert.fail(),
      noise: assert.fail,
    });
    assert.deepEqual(await instance.exited, { code: 3, detail: 'exited with code 3' });
    assert.equal((await instance.channel.closed).reason, 'exited with code 3');
    assert.deepEqual(results, ['{"jsonrpc":"2.0","id":1,"result":"last"}']);
    assert.deepEqual(hub.lines.stderr, ['no licence']);
    assert.deepEqual(await hub.leftovers(), []);
    assert.equal(await instance.usage(), undefined);
    assert.equal((await instance.stop({ graceMs: 1000 })).code, 3);
  });

  test('that exits at once is told so and removed, each time', async () => {
    await using hub = createHub();
    await hub.runtime.start(AbortSignal.timeout(10_000));
    const exits = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        const target = { command: 'sh', args: ['-c', `exit ${index}`] };
        return await (
          await hub.launch(hub.spec(`brief-${index}`, target))
        ).exited;
      }),
    );
    assert.deepEqual(
      exits.map(exit => exit.code),
      [0, 1, 2, 3, 4, 5, 6, 7],
    );
    assert.deepEqual(await hub.leftovers(), []);
  });

  test('is hardened, as the engine sees it', async () => {
    await using hub = createHub();
    const instance = await hub.launch(hub.spec('hard', echo, { SECRET: 'hush' }));
    const { Config, HostConfig } = await inspect(instance);
    assert.equal(Config.User, '65532:65532');
    assert.deepEqual(HostConfig.CapDrop, ['ALL']);
    assert.deepEqual(HostConfig.CapAdd ?? [], []);
    assert.deepEqual(HostConfig.SecurityOpt, ['no-new-privileges']);
    assert.equal(HostConfig.Privileged, false);
    assert.equal(HostConfig.ReadonlyRootfs, true);
    assert.equal(HostConfig.NetworkMode, 'none');
    assert.equal(HostConfig.IpcMode, 'private');
    // With cgroup v1 the default of the engine would be `host`.
    assert.partialDeepStrictEqual(HostConfig, { CgroupnsMode: 'private' });
    assert.equal(HostConfig.Memory, 128 * 2 ** 20);
    assert.equal(HostConfig.MemorySwap, 128 * 2 ** 20);
    assert.equal(HostConfig.NanoCpus, 1e9);
    assert.equal(HostConfig.PidsLimit, 64);
    assert.equal(HostConfig.RestartPolicy?.Name, 'no');
    assert.deepEqual(HostConfig.Devices ?? [], []);
    assert.deepEqual(HostConfig.LogConfig, {
      Type: 'local',
      Config: { 'max-file': '2', 'max-size': '1m' },
    });
    assert.ok(!JSON.stringify(Config.Labels).includes('hush'));
  });

  test('may write to /tmp and HOME, and nowhere else', async () => {
    await using hub = createHub();
    const target = answering(`path => {
      require('node:fs').writeFileSync(path + '/x', 'x');
      return 'written as ' + process.getuid();
    }`);
    const { ask } = askerOf(await hub.launch(hub.spec('writer', target)));
    assert.equal(await ask('write', '/tmp'), 'written as 65532');
    assert.equal(await ask('write', '/home/mcp'), 'written as 65532');
    assert.equal(await ask('write', '/opt'), 'failed: EROFS');
    assert.equal(await ask('write', '/dev/shm'), 'written as 65532');
  });

  test('has no network, unless it is given one of its own, which goes with it', async () => {
    await using hub = createHub();
    const interfaces = answering("() => Object.keys(require('node:os').networkInterfaces())");
    const reach = answering(`address => new Promise((resolve, reject) =>
      require('node:net').connect(53, address, () => resolve('reached')).on('error', reject))`);

    const alone = await hub.launch(hub.spec('alone', reach));
    assert.equal(await askerOf(alone).ask('reach', '1.1.1.1'), 'failed: ENETUNREACH');
    const listed = await hub.launch(hub.spec('listed', interfaces));
    assert.deepEqual(await askerOf(listed).ask('list'), ['lo']);

    const granted = await hub.launch(hub.spec('granted', { ...interfaces, network: 'bridge' }));
    assert.deepEqual(await askerOf(granted).ask('list'), ['lo', 'eth0']);
    const { Networks } = (await inspect(granted)).NetworkSettings;
    assert.deepEqual(Object.keys(Networks), [`${hub.hubName}-granted`]);
    await granted.stop({ graceMs: 0 });
    assert.ok(!(await hub.leftovers()).includes(`${hub.hubName}-granted`));
  });

  test('that eats memory is killed and told so, while a neighbour answers', async () => {
    await using hub = createHub();
    const neighbour = await hub.launch(hub.spec('neighbour', echo));
    const { ask } = askerOf(neighbour);
    const target = script('const all = []; for (;;) all.push(Buffer.alloc(8 << 20, 1))');
    const hungry = await hub.launch(hub.spec('hungry', target));
    assert.deepEqual(await hungry.exited, {
      code: 137,
      signal: 'SIGKILL',
      outOfMemory: true,
      detail: 'killed: out of memory (limit 128 MiB)',
    });
    assert.equal(await ask('echo', 'still here'), 'still here');
  });

  test('goes on when a child of it is killed for want of memory, which is reported', async () => {
    await using hub = createHub();
    const target = answering(`() => new Promise(resolve =>
      require('node:child_process')
        .spawn(process.execPath, ['-e', 'const all=[];for(;;)all.push(Buffer.alloc(8<<20,1))'])
        .on('exit', (code, signal) => resolve(signal)))`);
    const instance = await hub.launch(hub.spec('parent', target));
    const { ask } = askerOf(instance);
    assert.equal(await ask('spawn'), 'SIGKILL');
    await until('the shortage is reported', () =>
      hub.lines.progress.some(line => /out of memory \(limit 128 MiB\)/.test(line)),
    );
    assert.equal((await instance.usage())?.memoryLimitBytes, 128 * 2 ** 20);
  });

  test('that forks without end is held at its limit, and shown so', async () => {
    await using hub = createHub();
    const target = answering(`() => {
      const { spawn } = require('node:child_process');
      const next = () => spawn('sleep', ['60'], { stdio: 'ignore' }).on('error', () => {});
      for (let i = 0; i < 100; i++) next();
      return 'forked';
    }`);
    const instance = await hub.launch(hub.spec('forking', target));
    const neighbour = await hub.launch(hub.spec('neighbour', echo));
    assert.equal(await askerOf(instance).ask('fork'), 'forked');
    await until('the limit is reached', async () => (await instance.usage())?.pids === 64);
    assert.equal((await instance.usage())?.pidsLimit, 64);
    assert.equal(await askerOf(neighbour).ask('echo', 1), 1);
  });

  test('reports what it uses', async () => {
    await using hub = createHub();
    const instance = await hub.launch(hub.spec('usage', echo));
    await askerOf(instance).ask('ready');
    const usage = await instance.usage();
    assert.ok(usage && usage.memoryBytes > 2 ** 20 && usage.memoryBytes < usage.memoryLimitBytes);
    assert.ok(usage.cpuMs > 0 && usage.pids > 1);
  });

  test('whose command is not in the image exits with a sentence that says so', async () => {
    await using hub = createHub();
    const { exited } = await hub.launch(hub.spec('absent', { command: 'no-such-command' }));
    assert.match((await exited).detail, /^exited with code 127: its command is not in the image/);
    assert.match(hub.lines.stderr.join(), /no-such-command/);
  });

  test('that the engine cannot start is refused with its words, and leaves nothing', async () => {
    await using hub = createHub();
    const spec = hub.spec('misplaced', { ...echo, user: 'nobody-here' });
    await assert.rejects(
      hub.launch(spec),
      fails(
        'HUB_LAUNCH_INVALID',
        /^misplaced cannot be started as it is configured: .*nobody-here/,
      ),
    );
    assert.deepEqual(await hub.leftovers(), []);
  });

  test('that cannot be started leaves no network either', async () => {
    await using hub = createHub();
    const spec = hub.spec('misplaced', {
      ...echo,
      network: 'bridge',
      user: 'nobody-here',
    });
    await assert.rejects(hub.launch(spec), fails('HUB_LAUNCH_INVALID', /misplaced/));
    assert.deepEqual(await hub.leftovers(), []);
  });

  test('is not started where its name belongs to someone else, who is named', async () => {
    await using hub = createHub();
    const name = `${hub.hubName}-taken`;
    const other = await docker.createContainer({ name, Image: 'node:24-bookworm-slim' });
    try {
      await assert.rejects(
        hub.launch(hub.spec('taken', echo)),
        fails(
          'HUB_CONTAINER_NAME_TAKEN',
          new RegExp(`${name} is taken by something that no hub made .*HUB_NAME`),
        ),
      );
      assert.ok(await other.inspect(), 'it is left alone');
    } finally {
      await other.remove({ force: true });
    }
  });

  test('may not run twice', async () => {
    await using hub = createHub();
    await hub.launch(hub.spec('once', echo));
    await assert.rejects(
      hub.launch(hub.spec('once', echo)),
      fails('HUB_CONTAINER_NAME_TAKEN', /once runs already/),
    );
  });

  test('is not started from an image that is absent and cannot be pulled', async () => {
    await using hub = createHub();
    const image = { reference: 'localhost:1/no/such-image:1.2' };
    await assert.rejects(
      hub.launch(hub.spec('imageless', { ...echo, image })),
      fails(
        'HUB_REGISTRY_UNREACHABLE',
        /^the image localhost:1\/no\/such-image:1.2 is not on this engine, and its registry cannot be reached: .*refused/,
      ),
    );
    assert.deepEqual(await hub.leftovers(), []);
  });

  test('keeps no logs where it is told so', async () => {
    await using hub = createHub();
    const instance = await hub.launch(hub.spec('quiet', { ...echo, logs: 'none' }));
    assert.equal(await askerOf(instance).ask('echo', 1), 1);
    assert.equal((await inspect(instance)).HostConfig.LogConfig?.Type, 'none');
  });

  test('may run as a user of its own', async () => {
    await using hub = createHub();
    const target = { ...answering('() => process.getuid()'), user: '1234:1234' };
    assert.equal(await askerOf(await hub.launch(hub.spec('user', target))).ask('who'), 1234);
  });

  test('that cannot be reached is told with the place and the remedy', async () => {
    const away = createHub({ dockerHost: 'unix:///no/such/docker.sock' });
    const signal = AbortSignal.timeout(5000);
    const { healthy, detail } = await away.runtime.probe(signal);
    assert.equal(healthy, false);
    assert.match(detail, /^no Docker engine answers at unix:\/\/\/no\/such\/docker.sock: there is/);
    await away.runtime.start(signal);
    await assert.rejects(
      away.launch(away.spec('any', echo)),
      fails('HUB_ENGINE_UNREACHABLE', /Start Docker, or set DOCKER_HOST/),
    );
    await away.runtime.stop();
  });

  test('the engine is told by its version and place', async () => {
    await using hub = createHub();
    const { healthy, detail } = await hub.runtime.probe(AbortSignal.timeout(5000));
    assert.equal(healthy, true);
    assert.match(detail, /^Docker Engine \d+\.\d+/);
    assert.ok(detail.endsWith(` at ${engineHost}`));
  });
});
