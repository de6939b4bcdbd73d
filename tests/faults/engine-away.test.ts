import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { isObject } from '#core';
import { connect } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { type HubProcess, getJson, startHub, until } from '#helpers/hub-process';
import { docker } from '../runtimes/docker/hub.ts';
import { createProxy } from '../runtimes/docker/proxy.ts';
import {
  areWrittenDown,
  becomes,
  becomesTruthful,
  createScene,
  described,
  inContainer,
  recovery,
} from './scene.ts';

const echo = join(import.meta.dirname, '..', 'fixtures', 'servers', 'echo.mjs');
/** A server without `runtime`: it runs in an image of its own, or with npx if there is no engine. */
const memory = {
  package: '@modelcontextprotocol/server-memory@2026.8.31',
  auto_start: true,
  start_timeout: 5,
};

/** Returns the overall status of `/health`, the state of the engine, and the backend of each server. */
async function health(hub: Pick<HubProcess, 'url'>) {
  const found = await getJson(hub, '/health');
  assert.ok(isObject(found) && isObject(found['parts']) && isObject(found['parts']['engine']));
  const { state, backend, detail } = found['parts']['engine'];
  const servers = isObject(found['servers']) ? Object.entries(found['servers']) : [];
  return {
    status: found['status'],
    engine: { state, backend },
    detail: String(detail),
    backends: Object.fromEntries(
      servers.map(([name, server]) => [name, isObject(server) ? server['backend'] : undefined]),
    ),
  };
}

/** Returns ids of a hub's containers by server name, from the engine itself, even if the hub cannot reach it. */
async function containersOf(hubName: string): Promise<Readonly<Record<string, string>>> {
  const label = [`com.docker.compose.project=${hubName}`];
  const found = await docker.listContainers({ all: true, filters: JSON.stringify({ label }) });
  return Object.fromEntries(found.map(({ Id, Labels }) => [Labels['io.agenthub.server'], Id]));
}

const thereAtTheEnd = (proxy: Awaited<ReturnType<typeof createProxy>>): AsyncDisposable => ({
  async [Symbol.asyncDispose]() {
    proxy.thaw();
    if (proxy.isAway()) await proxy.back();
  },
});

// These tests run concurrently: each has its own hub and its own proxy to the engine, and waits most of the time.
describeWithEngine('an engine that is not there', () => {
  for (const [how, lose, regain] of [
    ['away', 'away', 'back'],
    ['silent', 'freeze', 'thaw'],
  ] as const)
    test.concurrent(
      `${how} when the next hub starts: it waits for the engine and adopts the containers`,
      { timeout: 180_000 },
      async () => {
        await using proxy = await createProxy();
        await using scene = await createScene({
          servers: { kept: inContainer('stateful.mjs', { start_timeout: 5 }), memory },
          engine: proxy,
        });
        // Restores the proxy also if the test fails, as the cleanup of the scene goes through it.
        await using _there = thereAtTheEnd(proxy);
        const first = await scene.start();
        for (const name of ['kept', 'memory', 'neighbour'])
          await becomes(first, name, 'running', 120_000);
        const before = await containersOf(scene.hubName);
        await using client = await connect(`${first.url}/mcp/kept`);
        await client.call('remember', { text: 'before' });
        await areWrittenDown(scene, ['kept', 'memory', 'neighbour']);
        await first.kill();
        await proxy[lose]();

        const begun = performance.now();
        const next = await scene.start();
        recovery(`the engine is ${how}: the hub listens`, performance.now() - begun);
        assert.ok(performance.now() - begun < 25_000, 'it listens soon');
        for (const name of ['kept', 'memory']) await becomes(next, name, 'unreachable', 60_000);
        assert.match(next.log(), /servers ran in containers before.*remove .*place\.json/);
        const shown = await health(next);
        assert.deepEqual(shown.engine, { state: 'down', backend: 'docker' });
        assert.deepEqual(Object.values(shown.backends), ['docker', 'docker', 'docker']);
        await proxy[regain]();

        const back = await becomes(next, 'memory', 'running', 60_000);
        recovery(`the engine is ${how} and back: a server runs`, back);
        for (const name of ['kept', 'neighbour']) await becomes(next, name, 'running', 60_000);
        assert.deepEqual(await containersOf(scene.hubName), before, 'the same containers');
        await using again = await connect(`${next.url}/mcp/kept`);
        assert.deepEqual(JSON.parse(await again.call('recall')).notes, ['before']);
        await becomesTruthful(scene);
        assert.equal(await next.stop(), 0);
        assert.deepEqual(await containersOf(scene.hubName), {});
      },
    );

  test.concurrent(
    'for a data folder that never had one: servers run as processes, and again only by configuration',
    { timeout: 120_000 },
    async () => {
      await using proxy = await createProxy();
      await proxy.away();
      const dataDir = await mkdtemp(join(tmpdir(), 'agenthub-faults-'));
      const hubName = `faults-${randomUUID().slice(0, 8)}`;
      const local = { command: process.execPath, args: [echo], auto_start: true };
      const pinned = inContainer('echo.mjs', { auto_start: false });
      const config = { servers: { local, pinned } };
      const env = { HUB_NAME: hubName, DOCKER_HOST: proxy.host };
      const start = async () => await startHub({ config, dataDir, env });
      {
        await using hub = await start();
        await becomes(hub, 'local', 'running');
        const away = await health(hub);
        assert.deepEqual(away.engine, { state: 'down', backend: 'process' });
        assert.match(
          away.detail,
          /^servers run as processes, not isolated: no Docker engine answers/,
        );
        assert.deepEqual(away.backends, { local: 'process', pinned: 'docker' });
        assert.equal(away.status, 'degraded', 'one needs the engine');
        await proxy.back();
        const back = await health(hub);
        assert.deepEqual(back.engine, { state: 'up', backend: 'process' });
        assert.match(back.detail, /^Docker Engine .* until it is started again$/);
        assert.equal(back.status, 'ok');
        proxy.freeze();
        assert.deepEqual((await health(hub)).engine, { state: 'down', backend: 'process' });
        proxy.thaw();
      }
      {
        await using hub = await start();
        await becomes(hub, 'local', 'failed');
      }
      await proxy.away();
      {
        await using hub = await start();
        assert.deepEqual((await health(hub)).engine, { state: 'down', backend: 'docker' });
        const [, file = ''] = /remove (\S+) and start the hub again/.exec(hub.log()) ?? [];
        await rm(file);
      }
      await using hub = await start();
      await becomes(hub, 'local', 'running');
      await hub.stop();
      await rm(dataDir, { recursive: true });
    },
  );

  test.concurrent(
    'silent while the hub runs: the hub answers, starts time out, and stopped containers are removed',
    { timeout: 120_000 },
    async () => {
      await using proxy = await createProxy();
      await using scene = await createScene({
        servers: {
          victim: inContainer('stateful.mjs'),
          lazy: inContainer('echo.mjs', { auto_start: false, start_timeout: 5 }),
        },
        engine: proxy,
      });
      await using _there = thereAtTheEnd(proxy);
      const hub = await scene.start();
      for (const name of ['victim', 'neighbour']) await becomes(hub, name, 'running');
      assert.ok(isObject((await described(hub, 'victim'))['usage']));
      proxy.freeze();
      const timed = async (work: () => Promise<unknown>) => {
        const begun = performance.now();
        await work();
        return performance.now() - begun;
      };
      const describedMs = await timed(async () => {
        const { state, usage } = await described(hub, 'victim');
        assert.deepEqual({ state, usage }, { state: 'running', usage: null });
      });
      assert.ok(describedMs < 5_000, `what a server is took ${describedMs} ms`);
      const startMs = await timed(async () => {
        const answer = await fetch(`${hub.url}/servers/lazy/start`, {
          method: 'POST',
          headers: hub.ownerHeaders,
        });
        assert.equal(answer.status, 503);
        assert.match(await answer.text(), /HUB_ENGINE_UNREACHABLE/);
      });
      assert.ok(startMs < 10_000, `a start with 5 s took ${startMs} ms`);
      const stopMs = await timed(async () => {
        const answer = await fetch(`${hub.url}/servers/victim/stop`, {
          method: 'POST',
          headers: hub.ownerHeaders,
        });
        assert.equal(answer.status, 200);
      });
      assert.ok(stopMs < 25_000, `a stop took ${stopMs} ms`);
      assert.ok('victim' in (await containersOf(scene.hubName)));
      proxy.thaw();
      const gone = performance.now();
      await until(
        () => containersOf(scene.hubName),
        found => !('victim' in found),
        15_000,
      );
      recovery('a stop that the engine did not hear: gone', performance.now() - gone);
      await becomes(hub, 'lazy', 'running', 60_000);
      await becomesTruthful(scene);
    },
  );
});
