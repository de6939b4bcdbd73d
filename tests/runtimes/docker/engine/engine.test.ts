import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { parseAddress } from '../../../../hub/runtimes/docker/engine/address.ts';
import { createEngine } from '../../../../hub/runtimes/docker/engine/engine.ts';
import { startEngine } from '../../../doubles/engine.ts';
import { scriptEngine } from '../scripted-engine.ts';

const label = 'io.agenthub.hub=hub';
const filters = JSON.stringify({ label: [label] });

test.each<[string, object, object]>([
  [
    'with a product and a kernel',
    { Version: '28', Os: 'linux', KernelVersion: '6.1', Platform: { Name: 'Docker Desktop' } },
    { version: '28', os: 'linux', kernel: '6.1', product: 'Docker Desktop' },
  ],
  [
    'without them, as Podman',
    { Version: '5', Os: 'linux' },
    { version: '5', os: 'linux', kernel: '', product: '' },
  ],
  [
    'with others than expected',
    { Version: '5', Os: 'linux', Platform: { Name: 7 } },
    { version: '5', os: 'linux', kernel: '', product: '' },
  ],
])('a version %s is parsed', async (_, body, version) => {
  await using scene = await scriptEngine({ 'GET /version': { body } });
  assert.deepEqual(await scene.engine.version(), version);
});

test.each(['version', 'findImage', 'findNetwork', 'findVolume', 'findContainer'] as const)(
  'the connection of %s is closed after its timeout, if the engine hangs',
  async name => {
    const asked = Promise.withResolvers<IncomingMessage>();
    await using double = await startEngine(request => asked.resolve(request));
    const clock = createManualClock();
    const engine = createEngine(parseAddress(`unix://${double.socketPath}`), clock);
    const made = name === 'version' ? engine.version() : engine[name]('any');
    const closed = once((await asked.promise).socket, 'close');
    clock.advance(30_000);
    await assert.rejects(made, { code: 'HUB_ENGINE_UNREACHABLE' });
    await closed;
  },
);

test('the sizes of volumes may take ten minutes, as a server can create millions of files', async () => {
  const asked = Promise.withResolvers<ServerResponse>();
  await using double = await startEngine((_, response) => asked.resolve(response));
  const clock = createManualClock();
  const engine = createEngine(parseAddress(`unix://${double.socketPath}`), clock);
  const measured = engine.volumeSizes();
  const response = await asked.promise;
  clock.advance(599_999);
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify({ Volumes: [{ Name: 'a', UsageData: { Size: 7 } }] }));
  assert.deepEqual(await measured, new Map([['a', 7]]));
});

test('only events of containers with the label are requested', async () => {
  await using scene = await scriptEngine({ 'GET /events': { body: '{}\n' } });
  const events = await scene.engine.events(label, new AbortController().signal);
  events.resume();
  const wanted = { type: ['container'], event: ['die', 'oom'], label: [label] };
  assert.deepEqual(JSON.parse(scene.calls[0]?.query['filters'] ?? ''), wanted);
});

describe('volumes', () => {
  test('are found with their labels, if they have any', async () => {
    await using scene = await scriptEngine({
      'GET /volumes/plain': { body: { Name: 'plain', Labels: null } },
      'GET /volumes/ours': { body: { Name: 'ours', Labels: { a: 'b' } } },
    });
    assert.deepEqual(await scene.engine.findVolume('plain'), { labels: {} });
    assert.deepEqual(await scene.engine.findVolume('ours'), { labels: { a: 'b' } });
    assert.equal(await scene.engine.findVolume('absent'), undefined);
  });

  test('are listed by their label, even if there are none', async () => {
    let Volumes: unknown = null;
    await using scene = await scriptEngine({ 'GET /volumes': () => ({ body: { Volumes } }) });
    assert.deepEqual(await scene.engine.listVolumes(label), []);
    Volumes = [
      { Name: 'a', Labels: null },
      { Name: 'b', Labels: { c: 'd' } },
    ];
    assert.deepEqual(await scene.engine.listVolumes(label), [
      { name: 'a', labels: {} },
      { name: 'b', labels: { c: 'd' } },
    ]);
    assert.deepEqual(scene.calls[0]?.query, { filters });
  });

  test('have the sizes that the engine could measure', async () => {
    const Volumes = [
      { Name: 'measured', UsageData: { Size: 5 } },
      { Name: 'unmeasured', UsageData: { Size: -1 } },
      { Name: 'without', UsageData: null },
      { Name: 7, UsageData: { Size: 5 } },
      { Name: 'text', UsageData: { Size: '5' } },
      null,
    ];
    await using scene = await scriptEngine({ 'GET /system/df': { body: { Volumes } } });
    const sizes = await scene.engine.volumeSizes();
    assert.deepEqual(
      [...sizes],
      [
        ['measured', 5],
        ['unmeasured', 0],
      ],
    );
    assert.deepEqual(scene.calls[0]?.query, { type: 'volume' });
  });

  test.each([[null], [[]], [{}], [{ Volumes: {} }]])('have no sizes in %j', async body => {
    await using scene = await scriptEngine({ 'GET /system/df': { body } });
    assert.equal((await scene.engine.volumeSizes()).size, 0);
  });

  test('that are in use are not removed', async () => {
    const message = 'volume is in use';
    await using scene = await scriptEngine({
      'DELETE /volumes/used': { status: 409, body: { message } },
      'DELETE /volumes/free': { status: 204 },
    });
    await scene.engine.removeVolume('free');
    await assert.rejects(scene.engine.removeVolume('used'), { status: 409, words: message });
    await assert.rejects(scene.engine.removeVolume('absent'), { status: 404 });
  });
});

describe('networks', () => {
  test('are created as bridges, with nothing in the query', async () => {
    await using scene = await scriptEngine({
      'POST /networks/create': { status: 201, body: { Id: 'n' } },
    });
    await scene.engine.createNetwork('net', { a: 'b' });
    const body = { Name: 'net', Driver: 'bridge', Labels: { a: 'b' } };
    assert.deepEqual(scene.calls, [{ call: 'POST /networks/create', query: {}, body }]);
  });

  test('are found and listed with their labels', async () => {
    const body = { Id: 'n', Name: 'net', Labels: null, Scope: 'local' };
    await using scene = await scriptEngine({
      'GET /networks/net': { body },
      'GET /networks': { body: [{ ...body, Labels: { a: 'b' } }] },
    });
    const found = { id: 'n', name: 'net', labels: {} };
    assert.deepEqual(await scene.engine.findNetwork('net'), found);
    assert.equal(await scene.engine.findNetwork('absent'), undefined);
    const listed = await scene.engine.listNetworks(label);
    assert.deepEqual(listed, [{ ...found, labels: { a: 'b' } }]);
    assert.deepEqual(scene.calls.at(-1)?.query, { filters });
  });
});
