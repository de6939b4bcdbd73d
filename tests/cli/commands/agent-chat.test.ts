import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ServerResponse, createServer } from 'node:http';
import { test } from 'vitest';
import { HubError } from '#core';
import { run } from '../run.ts';

const usesOf = (names: readonly string[]) =>
  names.map(name => ({ type: 'tool_use', id: name, name, input: { q: name } }));
const toolMessages = (names: readonly string[]) => [
  { message_id: 'a', role: 'assistant', content: usesOf(names) },
  { message_id: 'b', role: 'tool', content: [{ type: 'tool_result', text: 'of a tool' }] },
];
const answer = {
  message_id: 'c',
  role: 'assistant',
  content: [{ type: 'text', text: 'the answer' }],
};
/** Messages of a later turn, which another client sent. */
const later = [{ message_id: 'd', role: 'user', content: [] }, ...toolMessages(['later'])];

/**
 * Starts a hub whose agent has called these tools. Its event stream sends the first `live` calls, and then never ends
 * or, with `isBroken`, breaks before the answer.
 */
async function openHub(called: readonly string[], live: number, isBroken = false) {
  const told = called.slice(0, live);
  let isTold: () => void = () => {};
  const tellingOver = new Promise<void>(resolve => (isTold = resolve));
  const streams: ServerResponse[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://hub');
    const json = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (url.pathname.endsWith('/events')) {
      streams.push(response.writeHead(200, { 'content-type': 'text/event-stream' }));
      response.flushHeaders();
      for (const name of told)
        response.write(
          `event: tool\ndata: ${JSON.stringify({ message_id: 'm', name, input: { q: name } })}\n\n`,
        );
      if (isBroken) void tellingOver.then(() => response.destroy());
      return;
    }
    if (request.method === 'POST') return void json(202, { message_id: 'm', position: 0 });
    if (url.searchParams.get('tools') === 'true')
      return void json(200, { messages: [...toolMessages(called), answer, ...later] });
    void (live > 0 ? tellingOver : Promise.resolve())
      .then(() => new Promise<void>(resolve => setTimeout(resolve, isBroken ? 100 : 0)))
      .then(() => json(200, { status: 'idle', messages: [answer] }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  assert.ok(typeof bound === 'object' && bound);
  return {
    place: { url: `http://127.0.0.1:${bound.port}`, token: undefined },
    /** Lets the hub continue once `out` contains the lines of all tools that were sent. */
    printed: (out: string) => {
      if (told.every(name => out.includes(`{"q":"${name}"}`))) isTold();
    },
    async [Symbol.asyncDispose]() {
      for (const stream of streams) stream.destroy();
      server.closeAllConnections();
      server.close();
    },
  };
}

test('a conversation continues when the stream of its tools breaks', async () => {
  await using hub = await openHub(['first', 'second'], 1, true);
  const typed = ['hello', ''];
  const { code, out, err } = await run(
    ['agent', 'chat', 'researcher'],
    { findHub: async () => hub.place, ask: async () => typed.shift() ?? '' },
    { onOut: hub.printed },
  );
  assert.equal(code, 0, err);
  assert.equal(
    out.trim(),
    ['first {"q":"first"}', '  second {"q":"second"}', 'the answer'].join('\n'),
  );
});

test.each([
  ['none of which was told before the answer', 0],
  ['some of which were told as they were called', 1],
  ['all of which were told as they were called', 2],
])('a conversation shows the tools of a turn once each, %s', async (_name, live) => {
  await using hub = await openHub(['first', 'second'], live);
  const typed = ['hello', ''];
  const { code, out, err } = await run(
    ['agent', 'chat', 'researcher'],
    { findHub: async () => hub.place, ask: async () => typed.shift() ?? '' },
    { onOut: hub.printed },
  );
  assert.equal(code, 0, err);
  assert.equal(
    out.trim(),
    ['first {"q":"first"}', '  second {"q":"second"}', 'the answer'].join('\n'),
  );
});

test('a conversation ends at the end of the input', async () => {
  await using hub = await openHub([], 0);
  const ask = async () => {
    throw new HubError('HUB_CALL_CANCELLED', 'the input ended');
  };
  const { code, err } = await run(['agent', 'chat', 'researcher'], {
    findHub: async () => hub.place,
    ask,
  });
  assert.deepEqual([code, err], [0, '']);
});
