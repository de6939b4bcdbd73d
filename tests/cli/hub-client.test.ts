import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { startHub } from '#helpers/hub';
import { createHubClient } from '../../hub/cli/hub-client.ts';
import { openOther, withHub } from './hub.ts';
import { run } from './run.ts';

const { cli } = withHub();

describe('a command that needs a hub', () => {
  test('says how to start a hub if none answers, in one line', async () => {
    const { code, out, err } = await run(['list'], {
      findHub: async () => ({ url: 'http://127.0.0.1:1', token: undefined }),
    });
    assert.deepEqual({ code, out }, { code: 1, out: '' });
    assert.match(
      err,
      /^no hub answers at http:\/\/127\.0\.0\.1:1 \(.*\)\. Start one with "agenthub serve"[^\n]*$/,
    );
  });

  test('sends the token, and names its setting if it is missing', async () => {
    const token = 'a-token-of-16-chars';
    await using closed = await startHub([], { http: { token } });
    const open = (given: string | undefined) =>
      run(['list'], { findHub: async () => ({ url: closed.url, token: given }) });
    assert.match((await open(undefined)).err, /wants its token: set ROUTER_TOKEN/);
    assert.match((await open(token)).out, /has no servers\. Add one with "agenthub add/);
  });

  test('says that another program is not AgentHub', async () => {
    await using other = await openOther(404, '<h1>no</h1>');
    for (const args of [['list'], ['call', 'x'], ['restart', 'x']]) {
      const { code, err } = await cli([...args, '--url', `${other.url}/mcp`]);
      assert.equal(code, 1);
      assert.match(err, /is not AgentHub|does not respond as an MCP hub/);
    }
  });

  test('says that a hub hangs that accepts the connection, and never answers', async () => {
    const hub = createServer().listen(0, '127.0.0.1');
    await once(hub, 'listening');
    const address = hub.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const clock = createManualClock();
    const { signal } = new AbortController();
    const place = { url: `http://127.0.0.1:${port}`, token: undefined };
    const answer = createHubClient(place, { signal, clock }).ask({
      method: 'GET',
      path: '/servers',
    });
    const [socket] = await once(hub, 'connection');
    await once(socket, 'data');
    clock.advance(20_000);
    await assert.rejects(answer, {
      code: 'HUB_CONNECT_FAILED',
      message: /accepts connections, but has not answered for 20 s\. Stop it and start it again/,
    });
    socket.destroy();
    hub.close();
  });

  test('ends if the program answers with another protocol', async () => {
    const other = createServer(socket =>
      socket
        .on('error', () => {})
        .once('data', () =>
          socket.write('HTTP/1.1 101 Other\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n'),
        ),
    ).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const { code, err } = await cli(['list', '--url', `http://127.0.0.1:${port}`]);
    other.close();
    assert.equal(code, 1);
    assert.match(err, /it answers 101/);
  });

  test.for([
    [['list'], 'http://h:1/mcp/notes', 'one server: write --url http://h:1'],
    [['call', 'a'], 'https://h/base/sse/@work/', 'one profile: write --url https://h/base'],
    [['token', 'list'], 'http://h:1/mcp/notes', 'one server: write --url http://h:1'],
  ] as const)('%j refuses the address of an endpoint, %s', async ([args, url, remedy]) => {
    assert.deepEqual(await cli([...args, '--url', url]), {
      code: 2,
      out: '',
      err: `--url: ${JSON.stringify(url)} is the address of ${remedy}`,
    });
  });

  test('with an invalid address exits with 2', async () => {
    const { code, err } = await cli(['list', '--url', 'localhost:9090']);
    assert.equal(code, 2);
    assert.match(err, /^--url: "localhost:9090" is not allowed: write the hub's address/);
  });
});
