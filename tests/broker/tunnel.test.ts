import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { test } from 'vitest';
import { openTunnel } from '../../hub/broker/tunnel.ts';
import { owner } from './bodies.ts';
import { openBroker } from './scene.ts';

test('what a client sends behind the head of an attach, in the same packet, reaches the container', async () => {
  // The engine has one container of the hub, which echoes its input.
  const Labels = { 'io.agenthub.hub': owner.hubId };
  await using scene = await openBroker(
    (_, answer) => answer.end(JSON.stringify({ Id: 'c0ffee', Config: { Labels } })),
    {
      upgrade(_, socket) {
        socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n');
        socket.pipe(socket);
      },
    },
  );
  const client = connect({ path: scene.socketPath });
  client.write(
    'POST /containers/ours/attach?stream=1&stdin=1 HTTP/1.1\r\nHost: x\r\n' +
      'Connection: Upgrade\r\nUpgrade: tcp\r\n\r\nfirst line\n',
  );
  let heard = '';
  client.setEncoding('utf8').on('data', chunk => (heard += String(chunk)));
  while (!heard.endsWith('\n\r\n') && !heard.includes('line')) await once(client, 'data');
  client.end('second line\n');
  await once(client, 'end');
  assert.match(heard, /^HTTP\/1\.1 101 [^]*\r\n\r\nfirst line\nsecond line\n$/);
});

test('no stream is opened for a client that is disconnected before the engine is asked', () => {
  const client = new PassThrough().destroy();
  const engine = {
    open: () => assert.fail('nobody could end this stream'),
    unreachable: () => assert.fail('nothing was asked'),
    getJson: () => assert.fail('nothing was asked'),
  };
  openTunnel(engine, { method: 'POST', path: '/x', hijack: true }, client, Buffer.alloc(0));
});
