import assert from 'node:assert/strict';
import type http from 'node:http';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  LoggingMessageNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { describe, test } from 'vitest';
import { startHub, until } from '#helpers/hub';
import { metaKeys, modernVersion } from '#mcp';
import { answer, json, stream } from '../runtimes/remote/scene.ts';
import { startModern, startStreamable } from '../runtimes/remote/sdk-servers.ts';
import { serve } from '../runtimes/remote/serve.ts';
import { openAsked } from './asking.ts';
import { openClient } from './clients.ts';

/** Connects a client of the SDK that answers sampling requests and records log messages. */
async function connectListening(url: string) {
  const sampled: string[] = [];
  const logged: unknown[] = [];
  const client = new Client({ name: 'tested', version: '1' }, { capabilities: { sampling: {} } });
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => {
    const text = JSON.stringify(params.messages);
    sampled.push(text);
    return { role: 'assistant', model: 'none', content: { type: 'text', text } };
  });
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
    logged.push(params.data);
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return { client, sampled, logged };
}

describe('a message of a shared server over HTTP in the stream of a call', () => {
  test('reaches the client of the call, and none of nine others with calls', async () => {
    const far = await startStreamable(false);
    try {
      await using hub = await startHub([{ name: 'far', url: far.url }]);
      const secrets = Array.from({ length: 10 }, (_, at) => `the secret of client ${at}`);
      const clients = await Promise.all(secrets.map(() => connectListening(`${hub.url}/mcp/far`)));
      const results = await Promise.all(
        clients.map(({ client }, at) =>
          client.callTool({ name: 'confide', arguments: { secret: secrets[at], together: 10 } }),
        ),
      );
      for (const [at, { client, sampled, logged }] of clients.entries()) {
        const secret = secrets[at] ?? assert.fail('each has one');
        assert.equal(sampled.length, 1);
        assert.ok(sampled[0]?.includes(secret));
        assert.deepEqual(logged, [secret]);
        assert.ok(JSON.stringify(results[at]).includes(secret));
        await client.close();
      }
      assert.deepEqual(hub.server('far').advice, []);
    } finally {
      await far.stop();
    }
  });
});

const initialized = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: { listChanged: true } },
  serverInfo: { name: 'far', version: '1' },
};
const task = { taskId: 't1', status: 'working' };
const asking = (id: string) =>
  `data: ${JSON.stringify({ jsonrpc: '2.0', id, method: 'roots/list' })}\n\n`;
const saying = (method: string, params: object) =>
  `data: ${JSON.stringify({ jsonrpc: '2.0', method, params })}\n\n`;

/**
 * Starts a server with sessions. Its tool `hold` answers when `release` is called; `late` requests the roots of its
 * caller after its answer; `begin` creates a task; `watch` logs a message about that task. `later` is sent on the
 * stream of each `tools/list`, before the answer.
 */
async function startSloppy() {
  let held: http.ServerResponse | undefined;
  let later = '';
  let release = () => {};
  const answers: string[] = [];
  const served = await serve(async (request, response) => {
    const chunks: Buffer[] = await request.toArray();
    const text = Buffer.concat(chunks).toString();
    const { id, method, params } = text === '' ? { method: 'none' } : JSON.parse(text);
    if (method === undefined) answers.push(text);
    if (method === 'initialize') return json(response, { jsonrpc: '2.0', id, result: initialized });
    if (method === 'tools/list') {
      stream(response, later, `data: ${answer(id, { tools: [] })}\n\n`);
      return response.end();
    }
    if (method !== 'tools/call')
      return response.writeHead(method === 'server/discover' ? 400 : 405).end();
    const done = `data: ${answer(id, { content: [] })}\n\n`;
    if (params.name === 'hold') {
      held = response;
      release = () => void response.end(done);
      return stream(response);
    }
    if (params.name === 'begin') return json(response, { jsonrpc: '2.0', id, result: { task } });
    if (params.name === 'watch') {
      const _meta = { [metaKeys.relatedTask]: task };
      const log = saying('notifications/message', { level: 'info', data: 'of a task', _meta });
      stream(response, log, done);
      return response.end();
    }
    // The stream continues after the answer, which breaks the rules of MCP.
    const log = saying('notifications/message', { level: 'info', data: 'of late' });
    return stream(response, done, asking('late'), log);
  });
  return {
    url: served.url,
    answers,
    isHolding: () => held !== undefined,
    /** Sends `tools/list_changed`, and a request to the client when the hub reads the tools again. */
    changeTools() {
      later = asking('of no call');
      held?.write(saying('notifications/tools/list_changed', {}));
    },
    release: () => release(),
    [Symbol.asyncDispose]: () => served.stop(),
  };
}

test('a message of a server about a task belongs to the call in whose stream it arrived', async () => {
  await using far = await startSloppy();
  await using hub = await startHub([{ name: 'far', url: far.url, era: 'legacy' }]);
  const client = openClient(hub, hub.server('far'));
  await client.initialize();
  await client.ask('tools/call', { name: 'begin', arguments: {}, task: {} });
  const { related } = await client.call('watch');
  assert.match(JSON.stringify(related), /of a task/);
  assert.deepEqual(client.told, []);
});

describe('a message of a shared server over HTTP outside the stream of a call', () => {
  const scene = async () => {
    const far = await startSloppy();
    const hub = await startHub([{ name: 'far', url: far.url, era: 'legacy' }]);
    const [ada, alan] = [hub, hub].map(() =>
      openAsked(hub, hub.server('far'), () => ({ roots: [] })),
    );
    assert.ok(ada && alan);
    for (const client of [ada, alan]) await client.initialize({ roots: {} });
    const held = alan.call('hold');
    await until(() => far.isHolding());
    return { far, hub, ada, alan, held };
  };

  test('reaches no client when the call has ended, though another is in flight', async () => {
    const { far, hub, ada, alan, held } = await scene();
    await using _far = far;
    await using _hub = hub;
    await ada.call('late');
    await until(() => far.answers.length === 1);
    assert.match(
      String(far.answers[0]),
      /"id":"late".*on behalf of a call that is over.*CLIENT_GONE/,
    );
    far.release();
    await held;
    assert.deepEqual(
      [ada, alan].flatMap(({ asked, told }) => [...asked, ...told]),
      [],
    );
  });

  test('reaches no client if it arrived with the response to a request of the hub', async () => {
    const { far, hub, ada, alan, held } = await scene();
    await using _far = far;
    await using _hub = hub;
    await ada.call('late');
    await until(() => far.answers.length === 1);
    far.changeTools();
    await until(() => far.answers.length === 2);
    assert.match(String(far.answers[1]), /"id":"of no call".*worked for no client.*CLIENT_UNKNOWN/);
    far.release();
    await held;
    assert.deepEqual([...ada.asked, ...alan.asked], []);
  });
});

describe('a call whose headers a server refuses', () => {
  const posts = (far: Awaited<ReturnType<typeof startModern>>) =>
    far.requests.map(({ headers }) => headers['mcp-method']);
  const count = { name: 'count', arguments: { to: 3, unit: 'sheep' } };

  for (const era of ['legacy', 'modern'])
    test(`is sent again after the tools were read, for a client that is ${era}`, async () => {
      const far = await startModern();
      try {
        await using hub = await startHub([{ name: 'far', url: far.url }]);
        const client = openClient(hub, hub.server('far'));
        if (era === 'legacy') await client.initialize();
        const metadata = {
          [metaKeys.protocolVersion]: modernVersion,
          [metaKeys.clientCapabilities]: {},
          [metaKeys.clientInfo]: { name: 'test', version: '1' },
        };
        const params = era === 'legacy' ? count : { ...count, _meta: metadata };
        const before = posts(far).length;
        far.renameHeader('Measure');
        assert.equal((await client.ask('tools/call', params)).text, 'counted to 3 sheep');
        assert.equal((await client.ask('tools/call', params)).text, 'counted to 3 sheep');
        assert.deepEqual(posts(far).slice(before), [
          'tools/call',
          'tools/list',
          'tools/call',
          'tools/call',
        ]);
        assert.equal(far.requests.at(-1)?.headers['mcp-param-measure'], 'sheep');
      } finally {
        await far.stop();
      }
    });

  test('fails with the error of the server, if it refuses them again', async () => {
    let calls = 0;
    const error = { code: -32020, message: 'no header is good enough' };
    const discovered = {
      resultType: 'complete',
      supportedVersions: [modernVersion],
      capabilities: { tools: {} },
      serverInfo: { name: 'far', version: '1' },
    };
    const far = await serve(async (request, response) => {
      const chunks: Buffer[] = await request.toArray();
      const { id, method } = JSON.parse(Buffer.concat(chunks).toString());
      if (method === 'tools/call') {
        calls++;
        return json(response, { jsonrpc: '2.0', id, error }, {}, 400);
      }
      const result = method === 'tools/list' ? { resultType: 'complete', tools: [] } : discovered;
      return json(response, { jsonrpc: '2.0', id, result });
    });
    try {
      await using hub = await startHub([{ name: 'far', url: far.url, era: 'modern' }]);
      const client = openClient(hub, hub.server('far'));
      await client.initialize();
      assert.equal((await client.ask('tools/call', count)).error.code, -32020);
      assert.equal(calls, 2);
    } finally {
      await far.stop();
    }
  });
});
