import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { once } from 'node:events';
import { describe, test } from 'vitest';
import { startHub } from '#helpers/hub';
import { listenOn } from '../../hub/http/http.ts';

const { cache } = createRequire(import.meta.url);
const isFastifyLoaded = () => Object.keys(cache).some(file => file.includes('/fastify/'));

test('a call is answered before all routes are loaded, and a request for one of these loads them', async () => {
  await using hub = await startHub([{ name: 'echo' }]);
  const answer = await fetch(`${hub.url}/mcp/echo`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
  });
  assert.equal(answer.status, 400, 'there is no session');
  assert.equal(isFastifyLoaded(), false);
  const [health, missing] = await Promise.all(
    ['/health', '/none'].map(async path => (await fetch(hub.url + path)).status),
  );
  assert.deepEqual([health, missing], [200, 404]);
  assert.equal(isFastifyLoaded(), true);
});

describe('a host name with several addresses', () => {
  const answering = () => createServer((_, response) => void response.end('here'));
  const several = async () => ['127.0.0.1', '127.0.0.2'];

  test('is listened on at each of them, at the same port', async () => {
    const listening = await listenOn({ host: 'localhost', port: 0 }, answering, several);
    const { port } = listening;
    assert.deepEqual(listening.sockets, [`127.0.0.1:${port}`, `127.0.0.2:${port}`]);
    for (const address of await several()) {
      const answer = await fetch(`http://${address}:${listening.port}/`);
      assert.equal(await answer.text(), 'here', address);
    }
    const idle = connect(listening.port, '127.0.0.2');
    await once(idle, 'connect');
    const gone = once(idle, 'close');
    await Promise.all([listening.close(), gone]);
  });

  test('is listened on even if another address than the first is unavailable', async () => {
    const taken = await listenOn({ host: '127.0.0.2', port: 0 }, answering);
    try {
      const place = { host: 'localhost', port: taken.port };
      const listening = await listenOn(place, answering, several);
      assert.equal(listening.port, taken.port);
      assert.deepEqual(listening.taken, [`127.0.0.2:${taken.port}`], 'not kept to itself');
      await listening.close();
      await assert.rejects(
        listenOn(place, answering, async () => ['127.0.0.2', '127.0.0.1']),
        { code: 'HUB_PORT_TAKEN' },
      );
    } finally {
      await taken.close();
    }
  });

  test('is named in a warning if another program listens at one of them', async () => {
    const taken = await listenOn({ host: '127.0.0.1', port: 0 }, answering);
    try {
      const place = { port: taken.port, networks: ['127.0.0.2'] };
      await using hub = await startHub([], { http: place });
      assert.deepEqual(
        hub.logged.filter(({ level }) => level === 'warn').map(({ fields }) => fields),
        [{ address: `127.0.0.1:${taken.port}` }],
      );
    } finally {
      await taken.close();
    }
  });
});
