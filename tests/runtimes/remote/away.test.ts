import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { describe, test } from 'vitest';
import { freePort } from '#helpers/port';
import { call } from '../../contracts/recorder.ts';
import { launchRemote } from './launch.ts';
import { against, errorOf } from './scene.ts';

describe('a server that is away', () => {
  test('closes the channel at once when it has never answered, without showing secrets', async () => {
    const port = await freePort();
    const instance = await launchRemote(`http://user:password@127.0.0.1:${port}/mcp?key=secret`);
    assert.deepEqual(instance.about, { url: `http://127.0.0.1:${port}/mcp` });
    instance.channel.send(call(1, 'initialize'));
    const { reason, error } = await instance.channel.closed;
    assert.match(
      reason,
      /^tested cannot be reached at http:\/\/127\.0\.0\.1:\d+\/mcp: .*ECONNREFUSED/,
    );
    assert.doesNotMatch(reason, /password|secret/);
    assert.ok(error && 'code' in error && error.code === 'HUB_REMOTE_UNREACHABLE');
    assert.deepEqual(await instance.exited, { detail: reason });
  });

  test('closes the channel after three failures in a row', () =>
    against(
      (_, response) => response.destroy(),
      async ({ channel, heard }) => {
        channel.send(call(1, 'ping'));
        await errorOf(heard, 1);
        channel.send(call(2, 'ping'));
        await errorOf(heard, 2);
        channel.send(call(3, 'ping'));
        assert.match((await channel.closed).reason, /cannot be reached/);
      },
    ));

  test('is given up when it takes no connection in time', async () => {
    // It accepts, but never says a word of TLS.
    const mute = net.createServer().listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const instance = await launchRemote(`https://127.0.0.1:${portOf(mute)}/mcp`, {
      connectTimeoutMs: 100,
    });
    instance.channel.send(call(1, 'initialize'));
    assert.match((await instance.channel.closed).reason, /no connection within 0\.1 s/);
    mute.close();
  });

  test('closes the channel when it has forgotten the session', () =>
    against(
      (_, response) => response.writeHead(404).end(),
      async ({ instance, channel }) => {
        channel.send(call(1, 'ping'));
        const { reason, error } = await channel.closed;
        assert.equal(reason, 'tested does not know the session any more');
        assert.ok(error);
        assert.equal((await instance.exited).detail, reason);
      },
    ));
});

function portOf(server: net.Server): number {
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return address.port;
}
