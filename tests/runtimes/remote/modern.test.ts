import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { metaKeys, modernVersion } from '#mcp';
import type { Instance } from '#runtimes';
import { type Recorder, call, record, until } from '../../contracts/recorder.ts';
import { launchRemote } from './launch.ts';
import { against, answer, errorOf, json, stream } from './scene.ts';
import { startLegacy, startModern } from './sdk-servers.ts';

/** A request as a client of 2026-07-28 sends it. */
const modern = (id: number, method: string, params: object = {}, meta: object = {}) =>
  call(id, method, {
    ...params,
    _meta: {
      [metaKeys.protocolVersion]: modernVersion,
      [metaKeys.clientCapabilities]: {},
      [metaKeys.clientInfo]: { name: 'test', version: '1' },
      ...meta,
    },
  });

const cancel = (requestId: number) =>
  call(undefined, 'notifications/cancelled', { requestId, reason: 'enough' });

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

  test('is spoken to without a handshake, a session and a stream of its own', () =>
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

  test('answers 400 where the headers are not what it wants, and the hub passes that on', () =>
    opened(async (_, { channel }, heard) => {
      // No list has passed, so nobody knows what the tool declares.
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

  test('takes the end of the connection for the cancellation of a call', () =>
    opened(async (server, { channel }, heard) => {
      channel.send(modern(1, 'tools/call', { name: 'hang', arguments: {} }));
      await until(() => server.hanging() === 1, 'the call');
      channel.send(cancel(1));
      await until(() => server.hanging() === 0, 'the cancellation');
      assert.equal(server.requests.length, 1);
      assert.deepEqual(heard.messages, []);
    }));

  test('tells what changes on the stream of a subscription, until it is cancelled', () =>
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

  test('answers calls while more subscriptions are wanted than are open at once', () =>
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
      // Those that wait are taken back, but for one, which takes the place of the first.
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

describe('a message of 2026-07-28', () => {
  test('has nothing of the session that the channel has besides', () => {
    const seen: (readonly unknown[])[] = [];
    return against(
      (request, response, { id }) => {
        const { headers } = request;
        seen.push([headers['mcp-session-id'], headers['mcp-protocol-version']]);
        json(response, { jsonrpc: '2.0', id, result: {} }, { 'mcp-session-id': 'another' });
      },
      async ({ channel, heard }) => {
        channel.send(modern(1, 'tools/list'));
        await heard.answer(1);
        channel.send(call(2, 'ping'));
        await heard.answer(2);
        assert.deepEqual(seen.slice(0, 2), [
          [undefined, '2026-07-28'],
          ['s1', '2025-06-18'],
        ]);
      },
    );
  });

  test('is not asked for again where its stream breaks, even with the id of an event', () => {
    let requests = 0;
    return against(
      (request, response) => {
        if (request.method !== 'DELETE') requests++;
        stream(response, 'id: e1\nretry: 1\ndata: {"jsonrpc":"2.0","method":"before"}\n\n');
        response.end();
      },
      async ({ channel, heard }) => {
        channel.send(modern(1, 'tools/call', { name: 'a' }));
        assert.match((await errorOf(heard, 1)).message, /ended the stream before the answer/);
        assert.equal((await heard.notifications('before', 1)).length, 1);
        assert.equal(requests, 1);
      },
    );
  });

  test('is answered by an error without an id, as no other request was in the POST', () =>
    against(
      (_, response) => {
        const error = { code: -32022, message: 'no', data: { supported: ['2026-07-28'] } };
        json(response, { jsonrpc: '2.0', id: null, error }, {}, 400);
      },
      async ({ channel, heard }) => {
        channel.send(modern(1, 'server/discover'));
        assert.equal((await errorOf(heard, 1)).code, -32022);
      },
    ));

  test('that is refused in no words of JSON-RPC is answered by the hub, and the channel stays', () =>
    against(
      (_, response) => response.writeHead(404, { 'content-type': 'text/html' }).end('<p>'),
      async ({ channel, heard }) => {
        channel.send(modern(1, 'server/discover'));
        const error = await errorOf(heard, 1);
        assert.match(error.message, /no MCP endpoint there \(404/);
        assert.equal(error.data.status, 404);
        channel.send(modern(2, 'server/discover'));
        await errorOf(heard, 2);
      },
    ));

  test('cannot put anything else into a header', () =>
    against(
      (request, response, { id }) => {
        const { headers } = request;
        const result = { name: headers['mcp-name'], version: headers['mcp-protocol-version'] };
        json(response, { jsonrpc: '2.0', id, result });
      },
      async ({ channel, heard }) => {
        const meta = { [metaKeys.protocolVersion]: '1\r\nX-Evil: 1' };
        channel.send(modern(1, 'prompts/get', { name: 'a\r\nX-Evil: 1' }, meta));
        const { result } = JSON.parse(await heard.answer(1));
        assert.deepEqual(result, {
          name: '=?base64?YQ0KWC1FdmlsOiAx?=',
          version: '=?base64?MQ0KWC1FdmlsOiAx?=',
        });
      },
    ));

  test('that is cancelled after its answer makes no message', () => {
    const methods: string[] = [];
    return against(
      (_, response, { id, method }) => {
        methods.push(method);
        json(response, { jsonrpc: '2.0', id, result: {} });
      },
      async ({ channel, heard }) => {
        channel.send(modern(1, 'a'));
        await heard.answer(1);
        channel.send(cancel(1));
        channel.send(modern(2, 'b'));
        await heard.answer(2);
        assert.deepEqual(methods, ['a', 'b']);
      },
    );
  });
});

test('a message of 2026-07-28 is not sent over HTTP with SSE', async () => {
  const server = await startLegacy();
  try {
    const instance = await launchRemote(server.url, { transport: 'sse' });
    const { channel } = instance;
    const heard = record(channel);
    channel.send(modern(1, 'server/discover'));
    const error = await errorOf(heard, 1);
    assert.equal(error.code, -32601);
    assert.match(error.message, /over HTTP with SSE, which MCP 2026-07-28 does not have/);
    assert.deepEqual(
      server.requests.map(({ method }) => method),
      ['GET'],
    );
    await instance.stop({ graceMs: 100 });
  } finally {
    await server.stop();
  }
});

describe('a list of tools', () => {
  const tool = (name: string, header: unknown, type = 'string') => ({
    name,
    unknown: { kept: [1, 'é'] },
    inputSchema: { type: 'object', properties: { region: { type, 'x-mcp-header': header } } },
  });
  const pages = [
    { tools: [tool('bad', 'no token'), tool('good', 'Region')], nextCursor: 'next' },
    { tools: [tool('late', 'Region'), tool('worse', 'Score', 'number')] },
  ];
  const serve = (seen: unknown[]) =>
    ((request, response, { id, method, params = {} }) => {
      if (method === 'tools/call') seen.push(request.headers['mcp-param-region']);
      const page = 'cursor' in params ? pages[1] : pages[0];
      const result = method === 'tools/list' ? page : {};
      if (method === 'tools/call') json(response, { jsonrpc: '2.0', id, result });
      else {
        stream(response, `data: ${answer(id, result ?? {})}\n\n`);
        response.end();
      }
    }) satisfies Parameters<typeof against>[0];

  test('comes without tools whose headers are not allowed, and with the rest as it was', () =>
    against(serve([]), async ({ channel, heard }) => {
      channel.send(modern(1, 'tools/list'));
      const { result } = JSON.parse(await heard.answer(1));
      assert.deepEqual(result, { tools: [tool('good', 'Region')], nextCursor: 'next' });
      channel.send(modern(2, 'tools/list', { cursor: 'next' }));
      assert.deepEqual(JSON.parse(await heard.answer(2)).result, {
        tools: [tool('late', 'Region')],
      });
    }));

  test('comes whole where it was asked for in a session', () =>
    against(serve([]), async ({ channel, heard }) => {
      channel.send(call(1, 'tools/list'));
      assert.deepEqual(JSON.parse(await heard.answer(1)).result, pages[0]);
    }));

  test('tells the headers of the tools of all of its pages', () => {
    const seen: unknown[] = [];
    return against(serve(seen), async ({ channel, heard }) => {
      channel.send(modern(1, 'tools/list'));
      await heard.answer(1);
      channel.send(modern(2, 'tools/list', { cursor: 'next' }));
      await heard.answer(2);
      for (const [id, name] of [
        [3, 'good'],
        [4, 'late'],
        [5, 'bad'],
      ] as const) {
        channel.send(modern(id, 'tools/call', { name, arguments: { region: `of ${name}` } }));
        await heard.answer(id);
      }
      assert.deepEqual(seen, ['of good', 'of late', undefined]);
    });
  });
});
