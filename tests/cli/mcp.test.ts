import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { describe, test } from 'vitest';
import { HubError, isObject } from '#core';
import { openMcp } from '../../hub/cli/mcp.ts';
import { createScriptedHub, responseOf } from './scripted-hub.ts';

type Message = Readonly<Record<string, unknown>>;
type Answering = (message: Message) => IncomingMessage | object;

const eventStream = { 'content-type': 'text/event-stream; charset=utf-8' };
const events = (...messages: readonly unknown[]) =>
  responseOf({
    headers: eventStream,
    body: messages.map(message => `data: ${JSON.stringify(message)}\n\n`),
  });

/** Opens a session with a hub that answers MCP's own requests as specified, and all others by `answer`. */
async function open(answer: Answering = () => ({}), server?: string) {
  const scripted = createScriptedHub({
    async send({ method, body }) {
      const message = isObject(body) ? body : {};
      if (method === 'DELETE' || message['id'] === undefined) return responseOf({ status: 202 });
      const given =
        message['method'] === 'initialize'
          ? { result: { protocolVersion: '2025-11-25' } }
          : answer(message);
      if (given instanceof IncomingMessage) return given;
      const text = JSON.stringify({ jsonrpc: '2.0', id: message['id'], ...given });
      return responseOf({ headers: { 'mcp-session-id': 's1' }, body: [text] });
    },
    errorOf: async error =>
      isObject(error) && error['code'] === 'HUB_SERVER_UNKNOWN'
        ? new HubError('HUB_SERVER_UNKNOWN', String(error['message']))
        : undefined,
  });
  const mcp = await openMcp(scripted.hub, server, '1.2.3');
  return { mcp, ...scripted };
}

const unreadable = { code: 'HUB_CONNECT_FAILED', message: /does not respond as an MCP hub/ };

test('a session is opened, its id is sent with each request, and it is closed', async () => {
  const { mcp, sent } = await open(() => ({ result: { tools: [] } }), 'a b');
  await mcp.listTools();
  await mcp[Symbol.asyncDispose]();
  const [first, ...others] = sent;
  assert.deepEqual(first?.headers, { accept: 'application/json, text/event-stream' });
  assert.deepEqual(
    others.map(({ method, headers = {} }) => [
      method,
      headers['mcp-session-id'],
      headers['mcp-protocol-version'],
    ]),
    ['POST', 'POST', 'DELETE'].map(method => [method, 's1', '2025-11-25']),
  );
  assert.ok(sent.every(({ path }) => path === '/mcp/a%20b'));
});

test('an error on closing the session is ignored', async () => {
  const scripted = createScriptedHub({
    async send({ method, body }) {
      if (method === 'DELETE') throw new Error('the hub is gone');
      const id = isObject(body) ? body['id'] : undefined;
      return responseOf({ body: [JSON.stringify({ id, result: {} })] });
    },
  });
  const mcp = await openMcp(scripted.hub, undefined, '1.2.3');
  await mcp[Symbol.asyncDispose]();
  assert.equal(scripted.sent.at(-1)?.method, 'DELETE');
});

describe('a list of tools', () => {
  test('has those of all pages, and skips items that are not tools', async () => {
    const pages = [
      { tools: [{ name: 'a' }, { title: 'no name' }, 'b'], nextCursor: '' },
      { nextCursor: 'x' },
      { tools: [{ name: 'c' }], nextCursor: null },
    ];
    const asked: unknown[] = [];
    const { mcp } = await open(({ params }) => {
      asked.push(params);
      return { result: pages[asked.length - 1] ?? {} };
    });
    assert.deepEqual(await mcp.listTools(), [{ name: 'a' }, { name: 'c' }]);
    assert.deepEqual(asked, [{}, { cursor: '' }, { cursor: 'x' }]);
  });

  test('ends after 1000 pages', async () => {
    let pages = 0;
    const { mcp } = await open(() => {
      pages++;
      return { result: { tools: [{ name: `t${pages}` }], nextCursor: 'more' } };
    });
    assert.equal((await mcp.listTools()).length, 1000);
    assert.equal(pages, 1000);
  });

  test('fails with the error of the hub', async () => {
    const error = {
      code: -32_602,
      message: 'no such server',
      data: { code: 'HUB_SERVER_UNKNOWN' },
    };
    const { mcp } = await open(() => ({ error }));
    await assert.rejects(mcp.listTools(), {
      code: 'HUB_SERVER_UNKNOWN',
      message: 'no such server',
    });
    const { mcp: other } = await open(() => ({ error: { code: 1 } }));
    await assert.rejects(other.listTools(), unreadable);
  });
});

describe('a call', () => {
  test('reports the progress notifications before its answer', async () => {
    const progress = (params: object) => ({ method: 'notifications/progress', params });
    const { mcp, sent } = await open(({ id }) =>
      events(
        progress({ progress: 1, total: 2 }),
        progress({ progress: 2, message: 'nearly' }),
        'no object',
        { method: 'notifications/message', params: {} },
        { id: 'another', result: { other: true } },
        { id, result: { content: [] } },
        progress({ progress: 3 }),
      ),
    );
    const shown: string[] = [];
    const answer = await mcp.callTool('echo', { a: 1 }, text => shown.push(text));
    assert.deepEqual(answer, { result: { content: [] } });
    assert.deepEqual(shown, ['1 of 2', '2: nearly']);
    const { body } = sent.at(-1) ?? {};
    assert.deepEqual(isObject(body) && body['params'], {
      name: 'echo',
      arguments: { a: 1 },
      _meta: { progressToken: 1 },
    });
  });

  test.each(['application/json', 'text/event-stream'])(
    'preserves large whole numbers in its %s',
    async type => {
      const { mcp } = await open(({ id }) => {
        const text = `{"jsonrpc":"2.0","id":${String(id)},"result":{"structuredContent":{"id":9007199254740993}}}`;
        const body = [type === 'application/json' ? text : `data: ${text}\n\n`];
        return responseOf({ headers: { 'content-type': type }, body });
      });
      const { result } = await mcp.callTool('ids', {}, () => {});
      assert.equal(JSON.stringify(result), '{"structuredContent":{"id":9007199254740993}}');
    },
  );

  test('fails with the error of the server', async () => {
    const { mcp } = await open(() => ({ error: { code: -1, message: 'no' } }));
    const answer = await mcp.callTool('echo', {}, () => {});
    assert.deepEqual(answer, { error: { code: -1, message: 'no' } });
  });

  test.for([
    ['that ends without an answer', () => events({ method: 'x' })],
    ['that is not JSON', () => responseOf({ body: ['<h1>'] })],
    ['without result and error', () => ({})],
    ['with a result that is not an object', () => ({ result: 'x' })],
  ] as const)('fails with a response %s', async ([, answer]) => {
    const { mcp } = await open(answer);
    await assert.rejects(
      mcp.callTool('echo', {}, () => {}),
      unreadable,
    );
  });
});
