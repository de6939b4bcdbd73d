import assert from 'node:assert/strict';
import { test } from 'vitest';
import { describeWithEngine } from '#helpers/engine';
import type { LaunchSpec } from '#runtimes';
import { askerOf, createHub, docker, factOf, script, until } from '../runtimes/docker/hub.ts';
import { createProxy } from '../runtimes/docker/proxy.ts';

/** A server that counts its calls, so that a restart would show. It writes the answer to `long` in two parts. */
const counter = script(`
  let calls = 0;
  let rest = '';
  require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
    if (line === '') return;
    const { id, method } = JSON.parse(line);
    process.stdout.write(rest);
    rest = '';
    const answer = JSON.stringify({ jsonrpc: '2.0', id, result: ++calls }) + '\\n';
    if (method === 'long') rest = answer.slice(9);
    process.stdout.write(method === 'long' ? answer.slice(0, 9) : answer, () => console.error(method));
  });`);
const signal = AbortSignal.timeout(60_000);
const events = { stderr() {}, progress() {} };

/** Starts a server on a hub that can be killed, which leaves the container and its handle behind. */
async function killedHub(change: (spec: LaunchSpec) => LaunchSpec = spec => spec) {
  const proxy = await createProxy();
  const hub = createHub({ dockerHost: proxy.host });
  const spec = change({
    ...hub.spec('kept', { ...counter, network: 'bridge' }),
    digest: 'as it was',
  });
  const instance = await hub.launch(spec);
  const asker = askerOf(instance);
  assert.equal(await asker.ask('count'), 1);
  const handle = (await instance.handle?.()) ?? '';
  const containerId = handle.split(' ')[0] ?? '';
  return {
    hub,
    spec,
    handle,
    containerId,
    asker,
    instance,
    proxy,
    async kill() {
      await proxy.away();
      assert.equal((await instance.exited).lost, true);
    },
    next: () => createHub({ hubId: hub.id, isAwaited: id => id === containerId }),
    async [Symbol.asyncDispose]() {
      if (proxy.isAway()) await proxy.back();
      await hub[Symbol.asyncDispose]();
      await proxy[Symbol.asyncDispose]();
    },
  };
}

describeWithEngine('containers that outlive their hub', () => {
  test('continue in the same process under the next hub, even amid a half written line', async () => {
    await using killed = await killedHub();
    killed.instance.channel.send(Buffer.from('{"id":2,"method":"long"}'));
    const { stderr } = killed.hub.lines;
    await until('half of the answer has come', async () => stderr.includes('long'));
    await killed.kill();

    await using next = killed.next();
    await next.runtime.start(signal);
    const adopted = await next.runtime.adopt?.(killed.spec, killed.handle, events, signal);
    assert.ok(adopted);
    assert.equal(factOf(adopted, 'containerId'), factOf(killed.instance, 'containerId'));
    const { State } = await docker.getContainer(killed.containerId).inspect();
    assert.equal(adopted.startedAt, Date.parse(State.StartedAt));
    const { ask, noise } = askerOf(adopted);
    assert.equal(await ask('count'), 3);
    assert.equal(await adopted.handle?.(), killed.handle);
    assert.deepEqual(noise, [], 'what is left of a line of another hub is told to nobody');
    await adopted.stop({ graceMs: 1000 });
    assert.deepEqual(await next.leftovers(), [], 'it is removed with its network');
  });

  test('are adopted again by the same hub if a connection is lost', async () => {
    await using killed = await killedHub();
    killed.proxy.cut();
    assert.equal((await killed.instance.exited).lost, true);
    const adopted = await killed.hub.runtime.adopt?.(killed.spec, killed.handle, events, signal);
    assert.ok(adopted);
    assert.equal(await askerOf(adopted).ask('count'), 2);
  });

  const doubts: Readonly<
    Record<string, (killed: Awaited<ReturnType<typeof killedHub>>) => Promise<LaunchSpec>>
  > = {
    'is launched otherwise now': async ({ spec }) => ({ ...spec, digest: 'as it is now' }),
    'was started again meanwhile': async ({ spec, containerId }) => {
      await docker.getContainer(containerId).restart({ t: 0 });
      return spec;
    },
    'has ended': async ({ spec, containerId }) => {
      await docker.getContainer(containerId).kill();
      return spec;
    },
    'would have another image now': async ({ spec }) => {
      assert.ok(spec.target.kind === 'docker');
      return { ...spec, target: { ...spec.target, image: { reference: 'python:3.13-slim' } } };
    },
  };

  for (const [doubt, happens] of Object.entries(doubts))
    test(`one that ${doubt} is removed`, async () => {
      await using killed = await killedHub();
      await killed.kill();
      const spec = await happens(killed);
      await using next = killed.next();
      await next.runtime.start(signal);
      assert.equal((await next.leftovers()).length, 2, 'it is awaited, with its network');
      assert.equal(await next.runtime.adopt?.(spec, killed.handle, events, signal), undefined);
      assert.deepEqual(await next.leftovers(), []);
    });

  test('of another hub are not touched', async () => {
    await using killed = await killedHub();
    await using stranger = createHub();
    const spec = { ...stranger.spec('kept', counter), digest: 'as it was' };
    assert.equal(await stranger.runtime.adopt?.(spec, killed.handle, events, signal), undefined);
    assert.equal(await killed.asker.ask('count'), 2);
  });
});
