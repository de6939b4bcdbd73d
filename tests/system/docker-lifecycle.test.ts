import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { HubError } from '#core';
import { describeWithEngine } from '#helpers/engine';
import { engineHost } from '#helpers/engine-probe';
import { isLong } from '#helpers/length';
import {
  answering,
  askerOf,
  createHub,
  docker,
  factOf,
  nodeImage,
  until,
} from '../runtimes/docker/hub.ts';
import { createProxy } from '../runtimes/docker/proxy.ts';

const echo = answering('params => params');
/** Reads a file, after writing `text` to it if that is given. */
const file = answering(`({ path, text }) => {
  const fs = require('node:fs');
  if (text !== undefined) fs.writeFileSync(path, text);
  return fs.readFileSync(path, 'utf8');
}`);
const start = AbortSignal.timeout(60_000);

describeWithEngine('the life of containers', () => {
  test('containers and networks of a killed hub are removed at the next start', async () => {
    await using killed = createHub();
    await killed.launch(killed.spec('left', { ...echo, network: 'bridge' }));
    await using neighbour = createHub();
    await neighbour.launch(neighbour.spec('other', echo));

    const next = createHub({ hubId: killed.id });
    await next.runtime.start(start);
    assert.deepEqual(await next.leftovers(), []);
    assert.equal((await neighbour.leftovers()).length, 1, 'other hubs are left alone');
    await next.runtime.stop();
  });

  test('a leftover container is replaced by the next of its name', async () => {
    await using proxy = await createProxy();
    await using killed = createHub({ dockerHost: proxy.host });
    const old = await killed.launch(killed.spec('twin', { ...echo, network: 'bridge' }));
    // A killed hub sees nothing of what the next one does.
    await proxy.away();
    const next = createHub({ hubId: killed.id });
    const instance = await next.launch(next.spec('twin', { ...echo, network: 'bridge' }));
    assert.equal(await askerOf(instance).ask('echo', 1), 1);
    assert.notEqual(instance.about['containerId'], old.about['containerId']);
    await next.runtime.stop();
    assert.deepEqual(await next.leftovers(), []);
    await proxy.back();
    assert.ok((await old.exited).detail.length > 0);
  });

  test('a container that the engine is still removing is replaced', async () => {
    await using hub = createHub();
    // Many files make the removal of the container slow.
    const old = await docker.createContainer({
      name: `${hub.hubName}-twin`,
      Image: nodeImage,
      Cmd: ['sh', '-c', 'mkdir many && cd many && touch $(seq 10000)'],
      Labels: { 'io.agenthub.hub': hub.id, 'io.agenthub.managed': 'true' },
    });
    await old.start();
    await old.wait();
    const removal = old.remove();
    const instance = await hub.launch(hub.spec('twin', echo));
    assert.equal(await askerOf(instance).ask('echo', 1), 1);
    await removal;
  });

  test('a start that is aborted leaves nothing, at any time', async () => {
    await using hub = createHub();
    const whole = performance.now();
    await (await hub.launch(hub.spec('whole', echo))).stop({ graceMs: 0 });
    const wholeMs = performance.now() - whole;
    const parts = isLong ? 8 : 4;
    for (let part = 0; part < parts; part++) {
      const abort = new AbortController();
      const launched = hub.launch(
        hub.spec('aborted', { ...echo, network: 'bridge' }),
        abort.signal,
      );
      const timer = setTimeout(
        () => abort.abort(new Error('changed my mind')),
        (part * wholeMs) / parts,
      );
      const instance = await launched.catch((error: unknown) => {
        assert.ok(error instanceof HubError && error.code === 'HUB_CALL_CANCELLED', String(error));
        return undefined;
      });
      clearTimeout(timer);
      await instance?.stop({ graceMs: 0 });
      assert.deepEqual(await hub.leftovers(), [], `aborted after ${part} of ${parts} parts`);
    }
  });

  test('the runtime stops what still runs when it is stopped', async () => {
    await using hub = createHub();
    const instance = await hub.launch(hub.spec('late', echo));
    // As PID 1 a process ignores SIGTERM until it has installed a handler, so wait until it answers.
    await askerOf(instance).ask('ready');
    await hub.runtime.stop();
    assert.equal((await instance.exited).signal, 'SIGTERM');
    assert.deepEqual(await hub.leftovers(), []);
  });

  test('a container that is removed by another program is reported as removed', async () => {
    await using hub = createHub();
    await hub.runtime.start(start);
    const instance = await hub.launch(hub.spec('stolen', echo));
    const id = factOf(instance, 'containerId');
    await docker.getContainer(id).remove({ force: true });
    const { detail } = await instance.exited;
    assert.match(detail, /was removed by someone else|ended by SIGKILL/);
    assert.deepEqual(await hub.leftovers(), []);
  });

  test('a container whose connection is cut while it runs does not count as exited: it is removed', async () => {
    await using proxy = await createProxy();
    await using hub = createHub({ dockerHost: proxy.host });
    await hub.runtime.start(start);
    const instance = await hub.launch(hub.spec('cut', echo));
    await askerOf(instance).ask('ready');
    proxy.cut();
    const { detail } = await instance.exited;
    assert.match(detail, /^the connection to it ended \(.*\) while it was running$/);
    assert.equal((await instance.channel.closed).reason, detail);
    assert.deepEqual(await hub.leftovers(), []);
  });

  test('an engine that goes down loses its servers at once, and leftovers are removed when it is back', async () => {
    await using proxy = await createProxy();
    await using hub = createHub({ dockerHost: proxy.host });
    await hub.runtime.start(start);
    const instance = await hub.launch(hub.spec('lost', echo));
    await askerOf(instance).ask('ready');
    await proxy.away();
    assert.match((await instance.exited).detail, /^lost: no Docker engine answers at /);
    assert.match((await instance.stop({ graceMs: 100 })).detail, /^lost: /);
    assert.equal((await hub.leftovers()).length, 1);
    assert.equal((await hub.runtime.probe(AbortSignal.timeout(5000))).healthy, false);

    await proxy.back();
    await until('what was left is removed', async () => (await hub.leftovers()).length === 0);
    const again = await hub.launch(hub.spec('lost', echo));
    assert.equal(await askerOf(again).ask('echo', 'again'), 'again');
  });

  test('whichever call to the engine fails, the start fails with a reason and leaves nothing', async () => {
    await using proxy = await createProxy();
    await using hub = createHub({ dockerHost: proxy.host });
    await hub.runtime.start(start);
    let failures = 0;
    for (;;) {
      proxy.failCall(failures + 1);
      try {
        const instance = await hub.launch(hub.spec('faulty', { ...echo, network: 'bridge' }));
        proxy.failCall(0);
        await instance.stop({ graceMs: 0 });
        break;
      } catch (error) {
        assert.ok(
          error instanceof HubError && error.code === 'HUB_ENGINE_UNREACHABLE',
          String(error),
        );
        assert.deepEqual(await hub.leftovers(), [], `after call ${failures + 1} has failed`);
        failures++;
      }
    }
    // The calls inspect the image, create the network and the container, attach to it and start it. They do the same
    // for the forwarder, which may be left from an earlier attempt.
    assert.ok(failures > 10, String(failures));
  });

  test('a folder is mounted read-only or writable, as the entry says', async () => {
    await using hub = createHub();
    const folder = mkdtempSync(join(tmpdir(), 'mounted-'));
    try {
      chmodSync(folder, 0o777);
      writeFileSync(join(folder, 'note'), 'from outside');
      const mount = { source: folder, target: '/mnt/notes' };
      const reader = await hub.launch(
        hub.spec('reader', { ...file, mounts: [{ ...mount, readOnly: true }] }),
      );
      const { ask } = askerOf(reader);
      assert.equal(await ask('read', { path: '/mnt/notes/note' }), 'from outside');
      const written = await ask('write', { path: '/mnt/notes/new', text: 'x' });
      assert.equal(written, 'failed: EROFS');

      const writer = await hub.launch(
        hub.spec('writer', { ...file, mounts: [{ ...mount, readOnly: false }] }),
      );
      await askerOf(writer).ask('write', { path: '/mnt/notes/new', text: 'from inside' });
      assert.equal(readFileSync(join(folder, 'new'), 'utf8'), 'from inside');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('a folder that does not exist is refused by name and not made', async () => {
    await using hub = createHub();
    const mounts = [{ source: '/no/such/folder', target: '/mnt', readOnly: true }];
    await assert.rejects(
      hub.launch(hub.spec('unmounted', { ...echo, mounts })),
      (error: unknown) => {
        assert.ok(error instanceof HubError);
        assert.equal(error.code, 'HUB_LAUNCH_INVALID');
        assert.match(error.message, /^unmounted mounts \/no\/such\/folder, which does not exist/);
        return true;
      },
    );
    assert.deepEqual(await hub.leftovers(), []);
  });

  test('compose takes containers for orphans of its project, and removes them', async () => {
    await using hub = createHub();
    const instance = await hub.launch(hub.spec('redis', { ...echo, network: 'bridge' }));
    const folder = mkdtempSync(join(tmpdir(), 'compose-'));
    const compose = (...args: readonly string[]) =>
      execFileSync('docker', ['compose', '-p', hub.hubName, ...args], {
        cwd: folder,
        encoding: 'utf8',
        env: { ...process.env, DOCKER_HOST: engineHost },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
    try {
      // A service with the name of the server: compose must not take the container for its own.
      writeFileSync(
        join(folder, 'compose.yaml'),
        'services: { redis: { image: "node:24-bookworm-slim", command: sleep 60, init: true } }',
      );
      const name = `${hub.hubName}-redis`;
      assert.match(compose('ls'), new RegExp(`${hub.hubName}\\s+running\\(2\\)`));
      compose('up', '-d');
      const names = compose('ps', '--format', '{{.Name}}').trim().split('\n').toSorted();
      assert.deepEqual(names, [`${hub.hubName}-.egress`, name, `${hub.hubName}-redis-1`]);
      assert.equal(await askerOf(instance).ask('echo', 'untouched'), 'untouched');
      compose('down', '--remove-orphans', '-t', '1');
      assert.ok((await instance.exited).detail.length > 0);
      assert.deepEqual(await hub.leftovers(), []);
    } finally {
      compose('down', '--remove-orphans', '-t', '0');
      rmSync(folder, { recursive: true });
    }
  });
});
