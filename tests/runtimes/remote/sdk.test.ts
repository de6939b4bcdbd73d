import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { encodeResult, rawText } from '#jsonrpc';
import { call, record, until } from '../../contracts/recorder.ts';
import { launchRemote } from './launch.ts';
import { type SdkServer, startLegacy, startStreamable } from './sdk-servers.ts';

const initialize = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
};

const kinds = [
  ['streamable HTTP with JSON answers', 'http', true, () => startStreamable(true)],
  ['streamable HTTP with streams', 'http', false, () => startStreamable(false)],
  ['HTTP with SSE', 'sse', false, startLegacy],
] as const;

describe.for(kinds)('a server of the SDK over %s', ([, transport, json, start]) => {
  const opened = async (
    run: (server: SdkServer, instance: Awaited<ReturnType<typeof launchRemote>>) => Promise<void>,
  ) => {
    const server = await start();
    try {
      const instance = await launchRemote(server.url, {
        transport,
        headers: { 'X-Api-Key': 'a secret' },
      });
      await run(server, instance);
      await instance.stop({ graceMs: 1000 });
    } finally {
      await server.stop();
    }
  };

  test('is initialised, lists its tools, reports progress before the response, and sends notifications', () =>
    opened(async (server, { channel }) => {
      const heard = record(channel);
      channel.send(call(1, 'initialize', initialize));
      assert.match(await heard.answer(1), /"name":"counter"/);
      channel.send(call(undefined, 'notifications/initialized'));
      channel.send(call(2, 'tools/list'));
      assert.match(await heard.answer(2), /"name":"count"/);
      const params = { name: 'count', arguments: { to: 3 }, _meta: { progressToken: 9 } };
      channel.send(call(3, 'tools/call', params));
      assert.match(await heard.answer(3), /counted to 3/);
      const methods = heard.messages.map(message =>
        message.kind === 'answer' ? 'answer' : message.method,
      );
      // In JSON mode, the SDK has no stream for the progress of a call.
      if (methods.includes('notifications/progress'))
        assert.deepEqual(methods.slice(-3), [
          'notifications/progress',
          'notifications/progress',
          'answer',
        ]);
      // The SDK drops notifications until the stream is open, so the test repeats this one until it is received.
      const changed = 'notifications/tools/list_changed';
      await until(() => {
        void server.announce();
        return heard.messages.some(message => 'method' in message && message.method === changed);
      }, changed);
    }));

  test('gets the headers of its entry and those of the protocol', () =>
    opened(async (server, { channel }) => {
      const heard = record(channel);
      channel.send(call(1, 'initialize', initialize));
      await heard.answer(1);
      channel.send(call(2, 'ping'));
      await heard.answer(2);
      const last = server.requests.filter(({ method }) => method === 'POST').at(-1)?.headers;
      assert.equal(last?.['x-api-key'], 'a secret');
      assert.equal(last?.['mcp-protocol-version'], '2025-11-25');
      if (transport === 'http') assert.match(String(last?.['mcp-session-id']), /^[0-9a-f-]{36}$/);
    }));

  test('answers a hundred calls at once', () =>
    opened(async (_, { channel }) => {
      const heard = record(channel);
      channel.send(call(0, 'initialize', initialize));
      await heard.answer(0);
      channel.send(call(undefined, 'notifications/initialized'));
      for (let id = 1; id <= 100; id++)
        channel.send(call(id, 'tools/call', { name: 'count', arguments: { to: id } }));
      for (let id = 1; id <= 100; id++)
        assert.match(await heard.answer(id), new RegExp(`counted to ${id}"`));
    }));

  test.for([
    ['in the course of a call', false],
    ['beside a call', true],
  ] as const)('sends the client %s, and gets its answer', ([, aside]) =>
    opened(async (server, { channel }) => {
      const heard = record(channel);
      channel.send(call(1, 'initialize', { ...initialize, capabilities: { elicitation: {} } }));
      await heard.answer(1);
      channel.send(call(undefined, 'notifications/initialized'));
      await until(() => server.requests.some(({ method }) => method === 'GET'), 'the stream');
      channel.send(call(2, 'tools/call', { name: 'ask', arguments: { aside } }));
      // In JSON mode, the SDK has no stream for messages related to a call.
      if (json && !aside) return;
      await until(() => heard.messages.some(({ kind }) => kind === 'request'), 'the question');
      const question = heard.messages.find(message => message.kind === 'request');
      assert.equal(question?.method, 'elicitation/create');
      const id = rawText(question.bytes, question.id);
      channel.send(encodeResult(id, '{"action":"accept","content":{"name":"Ada"}}'));
      assert.match(await heard.answer(2), /it is Ada/);
    }),
  );

  test('is notified when the session ends', () =>
    opened(async (server, instance) => {
      const heard = record(instance.channel);
      instance.channel.send(call(1, 'initialize', initialize));
      await heard.answer(1);
      const exit = await instance.stop({ graceMs: 1000 });
      assert.deepEqual(exit, { detail: 'tested was disconnected' });
      assert.deepEqual(await instance.stop({ graceMs: 1000 }), exit);
      if (transport === 'http') assert.equal(server.requests.at(-1)?.method, 'DELETE');
    }));
});
