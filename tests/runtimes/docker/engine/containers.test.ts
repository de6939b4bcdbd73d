import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'vitest';
import { systemClock } from '#core';
import { createManualClock } from '#helpers/clock';
import { createEngine } from '../../../../hub/runtimes/docker/engine/engine.ts';
import { parseAddress } from '../../../../hub/runtimes/docker/engine/address.ts';
import { startEngine } from '../../../doubles/engine.ts';
import { containerInfo, scriptEngine } from '../scripted-engine.ts';

const { signal } = new AbortController();

test('a container is created from its body, without anything in the query', async () => {
  await using scene = await scriptEngine({
    'POST /containers/create': { status: 201, body: { Id: 'c' } },
  });
  const body = { Image: 'node', Env: ['TOKEN=secret'] };
  assert.equal(await scene.engine.createContainer('name', body), 'c');
  assert.deepEqual(scene.calls, [
    { call: 'POST /containers/create', query: { name: 'name' }, body },
  ]);
});

test('a container is found by id or name, with its state', async () => {
  const body = containerInfo('c', 'name', { a: 'b' }, { Running: false, ExitCode: 137 });
  const { Config } = body;
  const [Entrypoint, Cmd] = [['sh', '-c'], ['x']];
  await using scene = await scriptEngine({
    'GET /containers/c/json': { body: { ...body, Config: { ...Config, Entrypoint, Cmd } } },
    'GET /containers/bare/json': { body: { ...body, Config: { Image: Config.Image } } },
  });
  const found = {
    id: 'c',
    name: 'name',
    image: 'node:24',
    imageId: 'sha256:1',
    labels: { a: 'b' },
    command: ['sh', '-c', 'x'],
    state: { isRunning: false, startedAt: 'then', exitCode: 137, oomKilled: false },
  };
  assert.deepEqual(await scene.engine.findContainer('c'), found);
  assert.deepEqual(await scene.engine.findContainer('bare'), {
    ...found,
    labels: {},
    command: [],
  });
  assert.equal(await scene.engine.findContainer('absent'), undefined);
});

test('a container is started, waited for, stopped and removed', async () => {
  await using scene = await scriptEngine({
    'POST /containers/c/start': { status: 204 },
    'POST /containers/c/wait': { body: { StatusCode: 0 } },
    'POST /containers/c/stop': { status: 204 },
    'DELETE /containers/c': { status: 204 },
  });
  const { engine } = scene;
  await engine.startContainer('c', signal);
  await engine.waitForContainer('c', 5000);
  await engine.stopContainer('c', 3);
  await engine.removeContainer('c');
  await engine.waitForRemoval('c', 5000);
  assert.deepEqual(
    scene.calls.map(({ call, query }) => [call, query]),
    [
      ['POST /containers/c/start', {}],
      ['POST /containers/c/wait', { condition: 'not-running' }],
      ['POST /containers/c/stop', { t: '3' }],
      ['DELETE /containers/c', { force: '1', v: '1' }],
      ['POST /containers/c/wait', { condition: 'removed' }],
    ],
  );
});

test('a stop may take ten seconds more than the grace period of the container', async () => {
  const clock = createManualClock();
  const asked = Promise.withResolvers<void>();
  await using scene = await scriptEngine(
    {
      'POST /containers/c/stop': async () => {
        asked.resolve();
        return await new Promise(() => {});
      },
    },
    clock,
  );
  const stopped = scene.engine.stopContainer('c', 5);
  await asked.promise;
  clock.advance(14_999);
  assert.equal(clock.waiting, 1);
  clock.advance(1);
  await assert.rejects(stopped, {
    code: 'HUB_ENGINE_UNREACHABLE',
    message: /no answer within 15000 ms/,
  });
});

test('containers are listed by their label, including stopped ones', async () => {
  await using scene = await scriptEngine({
    'GET /containers/json': {
      body: [
        {
          Id: 'a',
          Names: ['/name', '/other/alias'],
          ImageID: 'sha256:1',
          Labels: { c: 'd' },
          State: 'running',
        },
        { Id: 'b', Names: [], ImageID: 'sha256:2', Labels: {}, State: 'exited' },
      ],
    },
  });
  assert.deepEqual(await scene.engine.listContainers('l=1'), [
    { id: 'a', name: 'name', imageId: 'sha256:1', labels: { c: 'd' }, isRunning: true },
    { id: 'b', name: '', imageId: 'sha256:2', labels: {}, isRunning: false },
  ]);
  assert.deepEqual(scene.calls[0]?.query, { all: 'true', filters: '{"label":["l=1"]}' });
});

describe('the statistics of a container', () => {
  const memory = { usage: 1000, limit: 5000 };
  const rest = {
    pids_stats: { current: 3, limit: 32 },
    cpu_stats: { cpu_usage: { total_usage: 1_499_999 } },
  };
  const expected = { memoryLimitBytes: 5000, pids: 3, pidsLimit: 32, cpuMs: 1 };
  test.each<[string, object, object | undefined]>([
    [
      'leave out the cache of cgroup v2',
      { ...rest, memory_stats: { ...memory, stats: { inactive_file: 400 } } },
      { ...expected, memoryBytes: 600 },
    ],
    [
      'leave out the cache of cgroup v1',
      { ...rest, memory_stats: { ...memory, stats: { total_inactive_file: 300 } } },
      { ...expected, memoryBytes: 700 },
    ],
    [
      'are not below zero',
      { ...rest, memory_stats: { ...memory, stats: { inactive_file: 2000 } } },
      { ...expected, memoryBytes: 0 },
    ],
    [
      'may lack the cache and the processes',
      { cpu_stats: rest.cpu_stats, memory_stats: memory },
      { ...expected, memoryBytes: 1000, pids: 0, pidsLimit: 0 },
    ],
    ['are empty once it has exited', { ...rest, memory_stats: {} }, undefined],
    ['may be nothing', {}, undefined],
  ])('%s', async (_, body, usage) => {
    await using scene = await scriptEngine({ 'GET /containers/c/stats': { body } });
    assert.deepEqual(await scene.engine.usage('c'), usage);
    assert.deepEqual(scene.calls[0]?.query, { stream: 'false', 'one-shot': 'true' });
  });
});

describe('an attach', () => {
  test('opens one stream in both directions, without a body that would reach the server', async () => {
    const heads: unknown[] = [];
    await using double = await startEngine(
      (_, response) => response.writeHead(500).end(),
      (request, socket) => {
        heads.push(request.method, request.url, request.headers['content-length'] ?? '0');
        socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\nhello ');
        socket.pipe(socket);
      },
    );
    const engine = createEngine(parseAddress(`unix://${double.socketPath}`), systemClock);
    const stream = await engine.attach('c');
    stream.end('server');
    let heard = '';
    stream.on('data', chunk => (heard += String(chunk)));
    await once(stream, 'end');
    assert.equal(heard, 'hello server');
    assert.deepEqual(heads, [
      'POST',
      '/containers/c/attach?stream=1&stdin=1&stdout=1&stderr=1',
      '0',
    ]);
  });

  test('of a container that does not exist is refused', async () => {
    await using scene = await scriptEngine({});
    await assert.rejects(scene.engine.attach('c'), { code: 'HUB_ENGINE_REFUSED', status: 404 });
  });
});
