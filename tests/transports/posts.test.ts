import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'vitest';
import { silent, systemClock } from '#core';
import { createManualClock } from '#helpers/clock';
import { caller } from '#helpers/principal';
import { encodeCall, encodeResult, readMessages } from '#jsonrpc';
import { createReplayBudget } from '../../hub/transports/event-stream.ts';
import { readRequest } from '../../hub/transports/http-message.ts';
import { createHttpSession } from '../../hub/transports/http-session.ts';
import { createPost, createPosts, finish } from '../../hub/transports/posts.ts';
import { createSessionTable } from '../../hub/transports/session-table.ts';
import { send } from './raw.ts';
import { createScriptedSession } from './scripted-session.ts';

test.each([
  ['in JSON', 'application/json'],
  ['on a stream', 'text/event-stream'],
])(
  'a notification of a server for a request that is answered %s waits for the stream of the session',
  async (_, accept) => {
    const http = createHttpSession('session', 'all', () => createScriptedSession().session, {
      clock: systemClock,
      budget: createReplayBudget(1024 * 1024),
    });
    const server = createServer((request, response) => {
      if (request.method === 'GET') return void http.standing.attach(response, undefined);
      const incoming = readRequest(request, response, 'all', caller);
      const { messages } = readMessages(encodeCall(1, 'tools/list'));
      const post = createPost(incoming, http, 0, false, false, messages);
      finish(post, [encodeResult('1', '{}')]);
      post.send(encodeCall(undefined, 'notifications/late'));
      http.standing.end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    assert.ok(typeof address === 'object' && address);
    const url = `http://127.0.0.1:${address.port}`;
    const posted = await send(url, { method: 'POST', headers: { accept } });
    assert.match(await posted.body(), /\{"jsonrpc":"2.0","id":1,"result":\{\}\}\s*$/);
    const standing = await send(url);
    await standing.body();
    assert.deepEqual(
      standing.messages().map(({ method }) => method),
      ['notifications/late'],
    );
    server.close();
  },
);

test('a message without a response gets 202 however long it waits for the servers of a resumed session', async () => {
  const clock = createManualClock();
  const table = createSessionTable(
    { idleMs: 60_000, maxSessions: 1 },
    { clock, newId: () => 'session', router: { open: () => createScriptedSession().session } },
  );
  const posts = createPosts(table, clock, silent);
  const listed = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    const incoming = readRequest(request, response, 'all', caller);
    const http = table.open(incoming, {
      client: { clientInfo: '{}', capabilities: '{}' },
      protocolVersion: '2025-11-25',
      openedAt: 0,
    });
    http.ready = listed.promise;
    const { messages } = readMessages(encodeCall(undefined, 'notifications/roots/list_changed'));
    posts.answer(createPost(incoming, http, clock.monotonic(), false, false, messages), messages);
    clock.advance(3_000);
    posts.streamLong();
    listed.resolve();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address);
  const told = await send(`http://127.0.0.1:${address.port}`, { method: 'POST' });
  assert.deepEqual([told.status, await told.body()], [202, '']);
  server.close();
});
