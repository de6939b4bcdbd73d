import assert from 'node:assert/strict';
import { afterAll, beforeAll, test } from 'vitest';
import { describeWithEngine } from '#helpers/engine';
import { byLength } from '#helpers/length';
import { createRecordingLog } from '#helpers/recording-log';
import { askerOf, answering, createHub, docker, until } from '../runtimes/docker/hub.ts';
import { createProxy } from '../runtimes/docker/proxy.ts';
import { createWorld } from './egress-scene.ts';

/** Fetches a URL. Returns status and body, or the error if the request or an endless answer breaks off. */
const fetching = answering(
  `async ({ url }) => { try { const r = await fetch(url); return r.status + ' ' + await r.text(); } catch (error) { return [error.cause?.code, error.code, error.cause?.message, error.message].find(one => typeof one === 'string'); } }`,
);
/** Begins an endless download, if a URL is given. Returns `open`, or the error of the download. */
const downloading = answering(
  `async ({ url }) => { if (url) { globalThis.state = 'open'; const { body } = await fetch(url); void (async () => { for await (const _ of body); })().catch(error => (globalThis.state = error.cause?.code ?? error.message)); } return globalThis.state; }`,
);
const network = { allow: ['api.test', '*.test:8080'] };
const signal = AbortSignal.timeout(120_000);
const events = { stderr() {}, progress() {} };
const forwarderOf = (hub: { readonly hubName: string }) =>
  docker.getContainer(`${hub.hubName}-.egress`);
const url = 'http://api.test/';
const serverCount = byLength({ short: 12, long: 50 });

describeWithEngine('the forwarder', () => {
  let world: Awaited<ReturnType<typeof createWorld>>;
  beforeAll(async () => {
    world = await createWorld();
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  test('runs unprivileged and bounded, and is removed with the hub', async () => {
    await using hub = createHub();
    assert.deepEqual(await hub.allLeftovers(), []);
    const instance = await hub.launch(hub.spec('fetcher', { ...fetching, network }));
    const { Config, HostConfig, NetworkSettings } = await forwarderOf(hub).inspect();
    assert.equal(Config.User, '65532:65532');
    assert.deepEqual(HostConfig.CapDrop, ['ALL']);
    assert.deepEqual(HostConfig.SecurityOpt, ['no-new-privileges']);
    assert.equal(HostConfig.ReadonlyRootfs, true);
    assert.equal(HostConfig.Memory, 256 * 2 ** 20);
    assert.equal(HostConfig.PidsLimit, 64);
    assert.equal(HostConfig.LogConfig?.Type, 'local');
    assert.deepEqual(Object.keys(NetworkSettings.Networks).toSorted(), [
      `${hub.hubName}-.egress`,
      `${hub.hubName}-fetcher`,
    ]);
    await instance.stop({ graceMs: 500 });
    assert.deepEqual(await hub.allLeftovers(), [
      `/${hub.hubName}-.egress`,
      `${hub.hubName}-.egress`,
    ]);
    await hub.runtime.stop();
    assert.deepEqual(await hub.allLeftovers(), []);
  });

  test('of a killed hub keeps the download of a server that the next hub adopts last', async () => {
    await using proxy = await createProxy();
    await using killed = createHub({ dockerHost: proxy.host });
    const specs = ['first', 'last'].map(name => ({
      ...killed.spec(name, { ...downloading, network }),
      digest: 'as it was',
    }));
    const instances = await Promise.all(specs.map(spec => killed.launch(spec)));
    const handles = await Promise.all(
      instances.map(async instance => (await instance.handle?.()) ?? ''),
    );
    await world.attach(killed);
    for (const instance of instances)
      assert.equal(await askerOf(instance).ask('x', { url: 'http://api.test/endless' }), 'open');
    await proxy.away();
    await Promise.all(instances.map(({ exited }) => exited));

    await using next = createHub({
      hubId: killed.id,
      isAwaited: id => handles.some(handle => handle.startsWith(id)),
    });
    await next.runtime.start(signal);
    for (const [at, spec] of specs.entries()) {
      const adopted = await next.runtime.adopt?.(spec, handles[at] ?? '', events, signal);
      assert.ok(adopted);
      assert.equal(await askerOf(adopted).ask('x', {}), 'open');
    }
    await next.runtime.stop();
    await proxy.back();
  });

  test('that is killed during a download ends it, and is started again', async () => {
    const { log, logged } = createRecordingLog();
    await using hub = createHub({ log });
    const [instance, other] = await Promise.all([
      hub.launch(hub.spec('fetcher', { ...fetching, network })),
      hub.launch(hub.spec('other', { ...fetching, network })),
    ]);
    await world.attach(hub);
    const asker = askerOf(instance);
    assert.equal(await asker.ask('x', { url }), '200 GET api.test/');
    const endless = asker.ask('x', { url: 'http://other.test:8080/endless' });
    await until(
      'it is being downloaded',
      () => hub.runtime.egress.report('fetcher')?.allowed === 2,
    );
    const { Id: killed } = await forwarderOf(hub).inspect();
    await forwarderOf(hub).kill({ signal: 'SIGKILL' });
    assert.match(String(await endless), /terminated|UND_ERR_SOCKET/);
    await until(
      'it is back',
      () => logged.filter(({ message }) => message.startsWith('servers reach')).length === 2,
    );
    assert.notEqual((await forwarderOf(hub).inspect()).Id, killed);
    await world.attach(hub);
    for (const one of [asker, askerOf(other)])
      assert.equal(await one.ask('x', { url }), '200 GET api.test/');
  });

  test('outlives a hub that is killed, and is taken over with the servers', async () => {
    await using proxy = await createProxy();
    await using killed = createHub({ dockerHost: proxy.host });
    const spec = {
      ...killed.spec('fetcher', { ...fetching, network }),
      digest: 'as it was',
    };
    const instance = await killed.launch(spec);
    await world.attach(killed);
    const { Id: before } = await forwarderOf(killed).inspect();
    const handle = (await instance.handle?.()) ?? '';
    await proxy.away();
    assert.equal((await instance.exited).lost, true);

    await using next = createHub({
      hubId: killed.id,
      isAwaited: id => handle.startsWith(id),
    });
    await next.runtime.start(signal);
    const adopted = await next.runtime.adopt?.(spec, handle, events, signal);
    assert.ok(adopted);
    assert.equal((await forwarderOf(next).inspect()).Id, before);
    const asker = askerOf(adopted);
    assert.equal(await asker.ask('x', { url }), '200 GET api.test/');
    assert.match(String(await asker.ask('x', { url: 'http://other.test/' })), /cancelled/);
    await until('it is reported', () => next.runtime.egress.report('fetcher')?.blockedCount === 1);
    await adopted.stop({ graceMs: 500 });
    await next.runtime.stop();
    assert.deepEqual(await next.allLeftovers(), []);
    await proxy.back();
  });

  test('that nobody takes over is removed with the servers of a killed hub', async () => {
    await using proxy = await createProxy();
    await using killed = createHub({ dockerHost: proxy.host });
    await killed.launch(killed.spec('fetcher', { ...fetching, network }));
    await proxy.away();
    await using next = createHub({ hubId: killed.id });
    await next.runtime.start(signal);
    await until('all of it is removed', async () => (await next.allLeftovers()).length === 0);
    await proxy.back();
  });

  test('is told where the hub and its services are, which no list can name', async () => {
    const places = { addresses: [], ports: [9090], backends: [{ address: '', port: 6379 }] };
    await using hub = createHub({ hubPlaces: async () => places });
    places.backends[0] = { address: world.addresses.private, port: 6379 };
    const allow = ['db.internal:6379', 'db.internal:9090'];
    const instance = await hub.launch(hub.spec('fetcher', { ...fetching, network: { allow } }));
    await world.attach(hub);
    const asker = askerOf(instance);
    assert.equal(
      await asker.ask('x', { url: 'http://db.internal:9090/' }),
      '200 GET db.internal:9090/',
    );
    assert.match(String(await asker.ask('x', { url: 'http://db.internal:6379/' })), /cancelled/);
    await until('it is reported', () => hub.runtime.egress.report('fetcher')?.blockedCount === 1);
    const [blocked] = hub.runtime.egress.report('fetcher')?.blocked ?? [];
    assert.equal(blocked?.target, 'db.internal:6379');
    assert.match(blocked?.why ?? '', /is a service of the hub$/);
  });

  test('has the names of targets that share a port told apart by what is sent', async () => {
    await using hub = createHub();
    const raw = answering(`({ host, text }) => new Promise(resolve => {
      const socket = require('node:net').connect(80, host, () => socket.write(text));
      let all = '';
      socket.on('data', data => (all += data));
      socket.on('close', () => resolve(all.split('\\r\\n').at(-1) || 'closed'));
      socket.on('error', () => {});
    })`);
    const allow = ['api.test:80', 'other.test:80'];
    const instance = await hub.launch(hub.spec('raw', { ...raw, network: { allow } }));
    await world.attach(hub);
    const asker = askerOf(instance);
    for (const host of ['api.test', 'other.test']) {
      const text = `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
      assert.equal(await asker.ask('x', { host, text }), `GET ${host}/`);
    }
    const text = 'GET / HTTP/1.1\r\nHost: www.api.test\r\nConnection: close\r\n\r\n';
    assert.equal(await asker.ask('x', { host: 'api.test', text }), 'closed');
  });

  test(`serves ${serverCount} servers with lists that start at once`, async ({ annotate }) => {
    await using hub = createHub();
    const names = Array.from({ length: serverCount }, (_, index) => `s${index}`);
    const limits = {
      memoryBytes: 32 * 2 ** 20,
      cpus: 1,
      pids: 16,
      scratchBytes: 2 ** 20,
      volumeBytes: 2 ** 30,
    };
    // A server in Bash, because starting Node would take most of the time of this test.
    const asking = { command: 'bash', args: ['-c', requestInBash], network, limits };
    const begun = performance.now();
    const instances = await Promise.all(names.map(name => hub.launch(hub.spec(name, asking))));
    const startMs = performance.now() - begun;
    await world.attach(hub);
    const answers = await Promise.all(instances.map(one => askerOf(one).ask('x', { url })));
    assert.deepEqual(new Set(answers), new Set(['200 GET api.test/']));
    for (const name of names)
      await until(`${name} is counted`, () => hub.runtime.egress.report(name)?.allowed === 1);
    const stats = await forwarderOf(hub).stats({ stream: false, 'one-shot': true });
    const memoryMib = stats.memory_stats.usage / 2 ** 20;
    await annotate(
      `${serverCount} servers in ${Math.round(startMs)} ms, ${memoryMib.toFixed(1)} MiB`,
    );
    assert.ok(memoryMib < 64, `${memoryMib} MiB`);
    await Promise.all(instances.map(one => one.stop({ graceMs: 0 })));
  }, 120_000);
});

/** Answers each line of stdin with the status and the body of a request through the proxy. */
const requestInBash = String.raw`
while read -r line; do
  id=${'$'}{line#*'"id":'} id=${'$'}{id%%,*} url=${'$'}{line##*'"url":"'} url=${'$'}{url%%'"'*}
  address=${'$'}{HTTP_PROXY#http://}
  exec 3<>"/dev/tcp/${'$'}{address%:*}/${'$'}{address#*:}"
  printf 'GET %s HTTP/1.0\r\n\r\n' "${'$'}url" >&3
  read -r _ status _ <&3
  while read -r body <&3 || [ -n "${'$'}body" ]; do :; last=${'$'}{body:-${'$'}last}; done
  exec 3>&-
  printf '{"jsonrpc":"2.0","id":%s,"result":"%s %s"}\n' "${'$'}id" "${'$'}status" "${'$'}last"
done`;
