import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { freePort } from '#helpers/port';
import { metaKeys } from '#mcp';
import { call } from '../../contracts/recorder.ts';
import { launchRemote } from './launch.ts';
import { cancel, modern } from './modern.ts';
import { against, answer, errorOf, json, stream } from './scene.ts';
import { serve } from './serve.ts';

test('no message overtakes the handshake', async () => {
  const methods: string[] = [];
  await against(
    (request, response, { id, method }) => {
      if (request.method !== 'POST') {
        response.writeHead(405).end();
        return;
      }
      methods.push(`${method} begins`);
      setImmediate(() => {
        methods.push(`${method} ends`);
        if (id === undefined) response.writeHead(202).end();
        else json(response, { jsonrpc: '2.0', id, result: {} });
      });
    },
    async ({ channel, heard }) => {
      channel.send(call(undefined, 'notifications/initialized'));
      channel.send(call(1, 'tools/list'));
      await heard.answer(1);
      assert.deepEqual(methods, [
        'notifications/initialized begins',
        'notifications/initialized ends',
        'tools/list begins',
        'tools/list ends',
      ]);
    },
  );
});

describe('a server that is unreachable', () => {
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

  test('closes the channel when it has forgotten the session', () =>
    against(
      (_, response) => response.writeHead(404).end(),
      async ({ instance, channel }) => {
        channel.send(call(1, 'ping'));
        const { reason, error } = await channel.closed;
        assert.equal(reason, 'tested no longer knows the session');
        assert.ok(error);
        assert.equal((await instance.exited).detail, reason);
      },
    ));
});

describe('a message of 2026-07-28', () => {
  test("has nothing of the channel's session", () => {
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

  test('is not resumed if its stream breaks, even with an event id', () => {
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

  test('gets an error response without an id, as no other request was in the POST', () =>
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

  test('that is refused without a JSON-RPC message gets an error of the hub, and the channel stays open', () =>
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

  test('cannot insert anything into a header', () =>
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

  test('that is cancelled after its response sends no message', () => {
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

  test('omits tools with invalid header declarations, and is otherwise unchanged', () =>
    against(serve([]), async ({ channel, heard }) => {
      channel.send(modern(1, 'tools/list'));
      const { result } = JSON.parse(await heard.answer(1));
      assert.deepEqual(result, { tools: [tool('good', 'Region')], nextCursor: 'next' });
      channel.send(modern(2, 'tools/list', { cursor: 'next' }));
      assert.deepEqual(JSON.parse(await heard.answer(2)).result, {
        tools: [tool('late', 'Region')],
      });
    }));

  test('is complete if it was requested in a session', () =>
    against(serve([]), async ({ channel, heard }) => {
      channel.send(call(1, 'tools/list'));
      assert.deepEqual(JSON.parse(await heard.answer(1)).result, pages[0]);
    }));

  test('has the headers of the tools on all of its pages', () => {
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

describe('whether a server may have sessions', () => {
  const ask = async (status: number) => {
    const seen: unknown[] = [];
    const server = await serve((request, response) => {
      seen.push(request.method, request.headers['mcp-session-id']);
      response.writeHead(status).write('x');
    });
    try {
      const { mayKeepSessions } = await launchRemote(server.url);
      const found = await mayKeepSessions?.(new AbortController().signal);
      assert.deepEqual(seen, ['GET', undefined]);
      return found;
    } finally {
      await server.stop();
    }
  };
  test.each([
    [200, true],
    [400, true],
    [401, true],
    [404, false],
    [405, false],
    [500, false],
  ])('follows from status %d of a GET: %s', async (status, expected) => {
    assert.equal(await ask(status), expected);
  });

  test('is unknown for an unreachable server, or after a cancellation', async () => {
    const instance = await launchRemote(`http://127.0.0.1:${await freePort()}/mcp`);
    assert.equal(await instance.mayKeepSessions?.(new AbortController().signal), false);
    assert.equal(await instance.mayKeepSessions?.(AbortSignal.abort()), false);
  });
});

test.each([
  [400, 'Bad Request: Unknown Session', true],
  [400, 'bad arguments', false],
  [403, 'no such session', false],
])('a refusal with %d "%s" ends the session: %s', async (status, message, isOver) => {
  const error = { code: 1, message };
  await against(
    (_, response) => json(response, { jsonrpc: '2.0', id: null, error }, {}, status),
    async ({ channel, heard }) => {
      channel.send(call(1, 'ping'));
      if (isOver) {
        assert.equal((await channel.closed).reason, 'tested no longer knows the session');
        return;
      }
      await errorOf(heard, 1);
      channel.send(call(2, 'ping'));
      await errorOf(heard, 2);
    },
  );
});
