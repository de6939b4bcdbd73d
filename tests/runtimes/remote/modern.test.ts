import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { metaKeys } from '#mcp';
import type { Instance } from '#runtimes';
import { type Recorder, record, until } from '../../contracts/recorder.ts';
import { launchRemote } from './launch.ts';
import { cancel, modern } from './modern.ts';
import { errorOf } from './scene.ts';
import { startModern } from './sdk-servers.ts';

describe('a server of the SDK over HTTP of 2026-07-28', () => {
  const opened = async (
    run: (
      server: Awaited<ReturnType<typeof startModern>>,
      instance: Instance,
      heard: Recorder,
    ) => Promise<void>,
  ) => {
    const server = await startModern();
    try {
      const instance = await launchRemote(server.url, { headers: { 'X-Api-Key': 'a secret' } });
      await run(server, instance, record(instance.channel));
      await instance.stop({ graceMs: 1000 });
    } finally {
      await server.stop();
    }
  };

  test('is used without a handshake, a session and a stream of its own', () =>
    opened(async (server, { channel }, heard) => {
      channel.send(modern(1, 'server/discover'));
      assert.match(await heard.answer(1), /"supportedVersions":\["2026-07-28"\]/);
      channel.send(modern(2, 'tools/list'));
      assert.match(await heard.answer(2), /"name":"count"/);
      assert.deepEqual(
        server.requests.map(({ method, headers }) => [
          method,
          headers['mcp-protocol-version'],
          headers['mcp-method'],
          headers['mcp-session-id'],
          headers['x-api-key'],
        ]),
        [
          ['POST', '2026-07-28', 'server/discover', undefined, 'a secret'],
          ['POST', '2026-07-28', 'tools/list', undefined, 'a secret'],
        ],
      );
    }));

  test('gets the arguments of a call in the headers that its tools declare', () =>
    opened(async (server, { channel }, heard) => {
      channel.send(modern(1, 'tools/list'));
      await heard.answer(1);
      const params = { name: 'count', arguments: { to: 3, unit: ' naïve ' } };
      channel.send(modern(2, 'tools/call', params));
      assert.match(await heard.answer(2), /counted to 3 {2}naïve /);
      const headers = server.requests.at(-1)?.headers;
      assert.equal(headers?.['mcp-name'], 'count');
      assert.equal(headers?.['mcp-param-to'], '3');
      assert.equal(headers?.['mcp-param-unit'], '=?base64?IG5hw692ZSA=?=');
    }));

  test('answers 400 if headers are missing, and the hub passes that on', () =>
    opened(async (_, { channel }, heard) => {
      // The hub has read no list of tools, so it does not know which headers the tool declares.
      channel.send(modern(1, 'tools/call', { name: 'count', arguments: { to: 3 } }));
      assert.equal((await errorOf(heard, 1)).code, -32020);
      channel.send(modern(2, 'server/discover', {}, { [metaKeys.protocolVersion]: '2031-01-01' }));
      const error = await errorOf(heard, 2);
      assert.equal(error.code, -32022);
      assert.deepEqual(error.data.supported, ['2026-07-28']);
    }));

  test('reports progress on the stream of the call', () =>
    opened(async (_, { channel }, heard) => {
      channel.send(modern(1, 'tools/list'));
      await heard.answer(1);
      const params = { name: 'count', arguments: { to: 3 } };
      channel.send(modern(2, 'tools/call', params, { progressToken: 9 }));
      await heard.answer(2);
      const methods = heard.messages.map(message =>
        message.kind === 'answer' ? 'answer' : message.method,
      );
      const progress = 'notifications/progress';
      assert.deepEqual(methods, ['answer', progress, progress, 'answer']);
    }));

  test('treats the end of the connection as the cancellation of a call', () =>
    opened(async (server, { channel }, heard) => {
      channel.send(modern(1, 'tools/call', { name: 'hang', arguments: {} }));
      await until(() => server.hanging() === 1, 'the call');
      channel.send(cancel(1));
      await until(() => server.hanging() === 0, 'the cancellation');
      assert.equal(server.requests.length, 1);
      assert.deepEqual(heard.messages, []);
    }));

  test('sends changes on the stream of a subscription, until it is cancelled', () =>
    opened(async (server, { channel }, heard) => {
      const notifications = { toolsListChanged: true };
      channel.send(modern(7, 'subscriptions/listen', { notifications }));
      const [acknowledged] = await heard.notifications(
        'notifications/subscriptions/acknowledged',
        1,
      );
      assert.match(String(acknowledged), /"io\.modelcontextprotocol\/subscriptionId":7/);
      await server.announce();
      await heard.notifications('notifications/tools/list_changed', 1);
      channel.send(cancel(7));
      channel.send(modern(8, 'server/discover'));
      await heard.answer(8);
      assert.equal(server.requests.length, 2);
    }));

  test('answers calls while more subscriptions are requested than may be open at once', () =>
    opened(async (server, { channel }, heard) => {
      const sent = (method: string) =>
        server.requests.filter(({ headers }) => headers['mcp-method'] === method).length;
      channel.send(modern(0, 'tools/list'));
      await heard.answer(0);
      const notifications = { toolsListChanged: true };
      for (let id = 1; id <= 70; id++)
        channel.send(modern(id, 'subscriptions/listen', { notifications }));
      for (let id = 101; id <= 200; id++)
        channel.send(modern(id, 'tools/call', { name: 'count', arguments: { to: id } }));
      for (let id = 101; id <= 200; id++)
        assert.match(await heard.answer(id), new RegExp(`counted to ${id} "`));
      assert.equal(sent('subscriptions/listen'), 16);
      // Cancels all waiting subscriptions but number 17, and two open ones, so that 17 is opened.
      for (let id = 18; id <= 70; id++) channel.send(cancel(id));
      channel.send(cancel(1));
      channel.send(cancel(2));
      await heard.notifications('notifications/subscriptions/acknowledged', 17);
      channel.send(modern(201, 'server/discover'));
      await heard.answer(201);
      assert.equal(sent('subscriptions/listen'), 17);
      assert.equal(sent('notifications/cancelled'), 0);
    }));
});
