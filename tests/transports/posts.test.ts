import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'vitest';
import { systemClock } from '#core';
import { caller } from '#helpers/principal';
import { encodeCall, encodeResult } from '#jsonrpc';
import { createReplayBudget } from '../../hub/transports/event-stream.ts';
import { readRequest } from '../../hub/transports/http-message.ts';
import { createHttpSession } from '../../hub/transports/http-session.ts';
import { createPost, finish } from '../../hub/transports/posts.ts';
import { send } from './raw.ts';
import { createScriptedSession } from './scripted-session.ts';

test('what a server says of a request that is answered waits for the stream of the session', async () => {
  const http = createHttpSession('session', 'all', () => createScriptedSession().session, {
    clock: systemClock,
    budget: createReplayBudget(1024 * 1024),
  });
  const server = createServer((request, response) => {
    if (request.method === 'GET') return void http.standing.attach(response, undefined);
    const incoming = readRequest(request, response, 'all', caller);
    const post = createPost(incoming, http, 0, false, false);
    finish(post, [encodeResult('1', '{}')]);
    post.send(encodeCall(undefined, 'notifications/late'));
    http.standing.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address);
  const url = `http://127.0.0.1:${address.port}`;
  const posted = await send(url, { method: 'POST' });
  assert.equal(await posted.body(), '{"jsonrpc":"2.0","id":1,"result":{}}');
  const standing = await send(url);
  await standing.body();
  assert.deepEqual(
    standing.messages().map(({ method }) => method),
    ['notifications/late'],
  );
  server.close();
});
