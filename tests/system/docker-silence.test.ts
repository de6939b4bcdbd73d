import assert from 'node:assert/strict';
import { test } from 'vitest';
import { HubError } from '#core';
import { describeWithEngine } from '#helpers/engine';
import { answering, askerOf, createHub, factOf, until } from '../runtimes/docker/hub.ts';
import { createProxy } from '../runtimes/docker/proxy.ts';

const echo = answering('params => params');
const never = new AbortController().signal;
const events = { stderr() {}, progress() {} };

/** Creates a hub whose engine can be frozen: it receives calls without answering, and open streams continue. */
async function scene(options: { readonly isAwaited?: (id: string) => boolean } = {}) {
  const proxy = await createProxy();
  const hub = createHub({ dockerHost: proxy.host, ...options });
  await hub.runtime.start(never);
  return {
    proxy,
    hub,
    async [Symbol.asyncDispose]() {
      proxy.thaw();
      await hub[Symbol.asyncDispose]();
      await proxy[Symbol.asyncDispose]();
    },
  };
}

async function millisecondsOf(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

async function assertUnheard(work: Promise<unknown>): Promise<void> {
  await assert.rejects(work, (error: unknown) => {
    assert.ok(error instanceof HubError, String(error));
    assert.equal(error.code, 'HUB_ENGINE_UNREACHABLE', error.message);
    return true;
  });
}

// These tests run concurrently: each has its own hub and its own proxy to the engine, and waits most of the time.
describeWithEngine('an engine that does not answer', () => {
  test.concurrent(
    'a container whose stop is not answered is removed once the engine answers',
    { timeout: 60_000 },
    async () => {
      await using silent = await scene();
      const { hub, proxy } = silent;
      const instance = await hub.launch({
        ...hub.spec('stopped', { ...echo, network: 'bridge' }),
        digest: 'adoptable',
      });
      await askerOf(instance).ask('ready');
      proxy.freeze();
      const ms = await millisecondsOf(() => instance.stop({ graceMs: 1000 }));
      assert.ok(ms < 15_000, `it was waited for for ${ms} ms`);
      assert.equal((await hub.leftovers()).length, 2);
      proxy.thaw();
      await until('it is removed', async () => (await hub.leftovers()).length === 0);
    },
  );

  test.concurrent(
    'a container that is in use is left alone, and removed once it is not',
    { timeout: 60_000 },
    async () => {
      let isAwaited = true;
      await using silent = await scene({ isAwaited: () => isAwaited });
      const { hub, proxy } = silent;
      const spec = { ...hub.spec('awaited', echo), digest: 'adoptable' };
      const instance = await hub.launch(spec);
      const handle = await instance.handle?.();
      assert.ok(handle !== undefined);
      proxy.cut();
      assert.equal((await instance.exited).lost, true);
      proxy.freeze();
      await assertUnheard(
        hub.runtime.adopt?.({ ...spec, timeoutMs: 300 }, handle, events, never) ??
          Promise.resolve(),
      );
      proxy.thaw();
      const adopted = await hub.runtime.adopt?.(spec, handle, events, never);
      assert.ok(adopted);
      assert.equal(factOf(adopted, 'containerId'), factOf(instance, 'containerId'));
      proxy.cut();
      assert.equal((await adopted.exited).lost, true);
      isAwaited = false;
      await until('it is removed', async () => (await hub.leftovers()).length === 0, 30_000);
    },
  );

  test.concurrent(
    'a launch times out, whichever call is not answered',
    { timeout: 120_000 },
    async () => {
      await using silent = await scene();
      const { hub, proxy } = silent;
      const spec = { ...hub.spec('late', { ...echo, network: 'bridge' }), timeoutMs: 2_000 };
      await (await hub.launch({ ...spec, timeoutMs: 30_000 })).stop({ graceMs: 0 });
      for (let calls = 1; calls <= 5; calls++) {
        proxy.freeze(calls);
        const ms = await millisecondsOf(() => assertUnheard(hub.launch(spec)));
        assert.ok(ms < 6_000, `call ${calls} was waited for for ${ms} ms`);
        proxy.thaw();
        await until(
          `nothing is left of call ${calls}`,
          async () => (await hub.leftovers()).length === 0,
        );
      }
      const instance = await hub.launch({ ...spec, timeoutMs: 30_000 });
      assert.equal(await askerOf(instance).ask('echo', 'again'), 'again');
    },
  );

  test.concurrent(
    'the next start of a name waits for the abandoned one, and succeeds',
    { timeout: 60_000 },
    async () => {
      await using silent = await scene();
      const { hub, proxy } = silent;
      const spec = hub.spec('again', echo);
      // The engine answers the inspection of the image, but not the creation of the container.
      proxy.freeze(2);
      await assertUnheard(hub.launch({ ...spec, timeoutMs: 1_000 }));
      const image = hub.launch({ ...spec, timeoutMs: 30_000 });
      proxy.thaw();
      const instance = await image;
      assert.equal(await askerOf(instance).ask('echo', 'again'), 'again');
      assert.equal((await hub.leftovers()).length, 1);
    },
  );

  test.concurrent('the usage of a server becomes unknown soon', async () => {
    await using silent = await scene();
    const { hub, proxy } = silent;
    const instance = await hub.launch(hub.spec('used', echo));
    proxy.freeze();
    const ms = await millisecondsOf(async () => assert.equal(await instance.usage(), undefined));
    assert.ok(ms < 4_000, `it took ${ms} ms`);
    proxy.thaw();
  });

  test.concurrent(
    'the hub starts without it, and removes leftovers once it answers',
    { timeout: 60_000 },
    async () => {
      await using killed = createHub();
      await killed.launch(killed.spec('left', echo));
      await using proxy = await createProxy();
      proxy.freeze();
      const next = createHub({ hubId: killed.id, dockerHost: proxy.host });
      const ms = await millisecondsOf(() => next.runtime.start(never));
      assert.ok(ms < 4_000, `it took ${ms} ms`);
      assert.equal((await next.leftovers()).length, 1);
      proxy.thaw();
      await until('it is removed', async () => (await next.leftovers()).length === 0);
      await next.runtime.stop();
    },
  );
});
