import assert from 'node:assert/strict';
import { describe, test, vi } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { type TestHub, startHub, until } from '#helpers/hub';
import { caller } from '#helpers/principal';
import { encodeCall, readMessage } from '#jsonrpc';
import { createSessionState } from '../../../hub/routing/session.ts';
import { openClient } from '../clients.ts';
import { at, openModern, textOf } from '../modern.ts';

const logged = 'notifications/message';
const logLevel = (level: string) => ({ 'io.modelcontextprotocol/logLevel': level });

/** Opens an initialized client that records the notifications outside its requests. */
async function clientOf(hub: TestHub, server: string) {
  const client = openClient(hub, hub.server(server));
  await client.initialize();
  return client;
}

const heardBy = (client: ReturnType<typeof openClient>) =>
  client.toldOf(logged).map(message => at(message, 'params', 'data'));

const isDropped = ({ logged: lines }: TestHub) =>
  lines.some(({ message }) => message.includes('was not passed on'));

describe('a log message outside calls', () => {
  test('reaches all clients if the server has served none yet', async () => {
    await using hub = await startHub([{ name: 'asker', autoStart: false, env: { SAYS: 'up' } }]);
    const clients = [openClient(hub), openClient(hub)];
    for (const client of clients) await client.initialize();
    await hub.server('asker').ready();
    await until(() => clients.every(client => heardBy(client).length === 1));
    assert.deepEqual(clients.map(heardBy), [['up'], ['up']]);
  });

  test('reaches the one client that the server has served, and none when that has left', async () => {
    await using hub = await startHub([{ name: 'asker' }]);
    const [ada, alan] = [await clientOf(hub, 'asker'), await clientOf(hub, 'asker')];
    await ada.call('log-later', { data: 'of ada' });
    await until(() => heardBy(ada).length === 1);
    await ada.call('log-later', { data: 'late', ms: 500 });
    ada.session.close('gone');
    await until(() => isDropped(hub));
    assert.deepEqual(heardBy(alan), []);
  });

  test('reaches no client if the server has served several', async () => {
    await using hub = await startHub([{ name: 'asker' }]);
    const clients = [
      await clientOf(hub, 'asker'),
      await clientOf(hub, 'asker'),
      openClient(hub),
    ] as const;
    await clients[2].initialize();
    for (const client of clients.slice(0, 2)) await client.call('pid');
    await clients[0].call('log-later', { data: 'of ada' });
    await until(() => isDropped(hub));
    assert.deepEqual(clients.map(heardBy), [[], [], []]);
  });
});

describe('the log level of a client that has set none', () => {
  test("is the server's default, and info once another client sets a lower one", async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const [quiet, loud] = [await clientOf(hub, 'echo'), await clientOf(hub, 'echo')];
    const hears = async (level: string) =>
      (await quiet.call('log', { level, text: level })).related.length;
    assert.equal(await hears('debug'), 1);
    await loud.ask('logging/setLevel', { level: 'debug' });
    assert.equal(await hears('debug'), 0);
    assert.equal(await hears('info'), 1);
    assert.equal((await loud.call('log', { level: 'debug', text: 'x' })).related.length, 1);
  });
});

describe('a client of 2026-07-28', () => {
  for (const [name, fixture] of [
    ['2025', { name: 'echo' }],
    ['2026', { name: 'whisper', env: { ERA: 'modern' } }],
  ] as const)
    test(`gets logs for the requests that set a level, of a server of ${name}`, async () => {
      await using hub = await startHub([fixture]);
      const client = openModern(hub, hub.server(fixture.name));
      const heard = async (more: object) => {
        client.told.length = 0;
        const given = { level: 'warning', text: 'x', secret: 's' };
        const answer = await client.ask('tools/call', { name: 'log', arguments: given }, more);
        assert.ok(textOf(Object(answer['result'])));
        return client.told.map(({ method }) => method);
      };
      assert.deepEqual(await heard({}), []);
      assert.deepEqual(await heard(logLevel('debug')), [logged]);
      assert.deepEqual(await heard(logLevel('warning')), [logged]);
      if (name === '2025') assert.deepEqual(await heard(logLevel('error')), []);
      assert.deepEqual(await heard({}), [], 'the next request has asked for none');
    });

  test.each([
    ['echo', {}],
    ['whisper', { ERA: 'modern' }],
  ])('gets logs of a request at %s although its next request sets no level', async (name, env) => {
    await using hub = await startHub([{ name, env }]);
    const client = openModern(hub, hub.server(name));
    const params = { name: 'log', arguments: { level: 'warning', text: 'x', secret: 's' } };
    const logging = client.ask('tools/call', params, logLevel('debug'));
    await Promise.all([logging, client.ask('tools/list')]);
    assert.deepEqual(
      client.told.map(({ method }) => method),
      [logged],
    );
  });

  test('gets no log that a server of 2026 sends without a level', () => {
    const heard: string[] = [];
    const send = (bytes: Buffer) => void heard.push(bytes.toString());
    const state = createSessionState(
      '1',
      { endpoint: 'all', principal: caller, send, isConnected: () => true, isSessionless: false },
      { forward() {} },
    );
    const said = readMessage(encodeCall(undefined, logged, { level: 'error', data: 'x' }));
    assert.ok(said.kind === 'notification');
    for (const level of ['none', 'error', 'alert'] as const) {
      state.requestLevel = level;
      state.notification(said, { send: send });
    }
    assert.equal(heard.length, 1);
  });
});

describe('the level set at a server of 2025 on behalf of requests of 2026', () => {
  const minute = 60_000;

  /** Starts a hub whose `logging/setLevel` requests to the server are recorded. */
  async function scene() {
    const clock = createManualClock();
    const hub = await startHub([{ name: 'echo' }], { clock });
    const { running } = hub.server('echo');
    assert.ok(running);
    const spied = vi.spyOn(running.upstream, 'request');
    const client = openModern(hub, hub.server('echo'));
    return {
      hub,
      clock,
      client,
      asked: () =>
        spied.mock.calls
          .filter(([method]) => method === 'logging/setLevel')
          .map(([, params]) => at(params, 'level')),
      call: (name: string, given: object, level: string) =>
        client.ask('tools/call', { name, arguments: given }, logLevel(level)),
    };
  }

  test('is raised a minute after the last of them has ended', async () => {
    const { hub, clock, asked, call } = await scene();
    await using _ = hub;
    await call('pid', {}, 'debug');
    await call('pid', {}, 'warning');
    clock.advance(minute - 1);
    assert.deepEqual(asked(), ['debug']);
    await call('pid', {}, 'debug');
    clock.advance(minute - 1);
    assert.deepEqual(asked(), ['debug'], 'another of them has kept it');
    clock.advance(1);
    assert.deepEqual(asked(), ['debug', 'info']);
    await call('pid', {}, 'debug');
    assert.deepEqual(asked(), ['debug', 'info', 'debug']);
  });

  test('stays while one is in flight, and is raised even when that is cancelled', async () => {
    const { hub, clock, asked, call, client } = await scene();
    await using _ = hub;
    const params = { name: 'slow', arguments: { ms: 60_000 } };
    const slow = client.request('tools/call', params, logLevel('debug'));
    const requestId = client.lastId();
    await until(() => hub.server('echo').running?.upstream.inFlight() === 1);
    await call('pid', {}, 'debug');
    clock.advance(5 * minute);
    assert.deepEqual(asked(), ['debug']);
    await client.notify('notifications/cancelled', { requestId });
    assert.equal(await slow, undefined);
    clock.advance(minute);
    assert.deepEqual(asked(), ['debug', 'info']);
  });
});
