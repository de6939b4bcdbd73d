import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError } from '#core';
import { createManualClock } from '#helpers/clock';
import { caller } from '#helpers/principal';
import { type Edit, membersOf, readMessage } from '#jsonrpc';
import type {
  BuiltinContext,
  BuiltinServer,
  BuiltinTool,
} from '../../hub/builtin/builtin-server.ts';
import { createBuiltinUpstream } from '../../hub/builtin/upstream.ts';
import { openBuiltin } from './scripted-builtin.ts';

/** Work that ends only when its signal aborts. */
const held = async (signal: AbortSignal): Promise<never> =>
  await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

const work = { name: 'work', arguments: {} };

describe("a server of the hub's own", () => {
  test('answers initialize, discover and ping like any other', async () => {
    const { relay } = openBuiltin();
    const { result } = await relay('initialize').answer;
    assert.deepEqual(result.serverInfo, { name: 'own', version: '0' });
    assert.ok(Array.isArray((await relay('server/discover').answer).result.supportedVersions));
    assert.deepEqual(await relay('ping').answer, { jsonrpc: '2.0', id: 7, result: {} });
  });

  test('answers each request in the protocol revision of the request', async () => {
    const { relay } = openBuiltin();
    const legacy = await relay('resources/read', { uri: 'own://thing' }).answer;
    const contents = [{ uri: 'own://thing', mimeType: 'text/plain', text: 'a thing' }];
    assert.deepEqual(legacy.result, { contents });
    const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
    const modern = await relay('resources/read', { uri: 'own://thing', _meta }).answer;
    const cached = { ttlMs: 0, cacheScope: 'private' };
    assert.deepEqual(modern.result, { resultType: 'complete', contents, ...cached });
  });

  test('returns a progress token as the client wrote it', async () => {
    const { relay, streamed } = openBuiltin(async (_signal, progress) => {
      progress('half');
      return 'done';
    });
    await relay('tools/call', work, 1_000, '12345678901234567890').answer;
    assert.deepEqual(streamed, [
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":12345678901234567890,"progress":1,"message":"half"}}',
    ]);
  });

  test('reports no progress once a call is answered or cancelled', async () => {
    const reports: ((message: string) => void)[] = [];
    const { relay, streamed } = openBuiltin(async (signal, progress) => {
      reports.push(progress);
      return reports.length === 1 ? 'done' : await held(signal);
    });
    await relay('tools/call', work, 1_000, '1').answer;
    const cancelled = relay('tools/call', work, 1_000, '2');
    cancelled.cancel(undefined);
    await assert.rejects(cancelled.answer, { code: 'HUB_CALL_CANCELLED' });
    for (const report of reports) report('late');
    assert.equal(reports.length, 2);
    assert.deepEqual(streamed, []);
  });

  test.each([
    ['tools/call', { name: 'play' }, 'HUB_NAME_UNKNOWN'],
    ['prompts/get', { name: 'play' }, 'HUB_NAME_UNKNOWN'],
    ['resources/read', { uri: 'own://other' }, 'HUB_NAME_UNKNOWN'],
    ['tools/call', { ...work, task: {} }, 'HUB_REQUEST_INVALID'],
    ['tasks/list', {}, 'HUB_REQUEST_INVALID'],
  ])('refuses %s of %j', async (method, params, code) => {
    const { relay } = openBuiltin();
    await assert.rejects(relay(method, params).answer, { code });
  });

  test('ignores `task` in a call of 2026-07-28, which does not have it', async () => {
    const { relay } = openBuiltin();
    const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
    const { result } = await relay('tools/call', { ...work, task: {}, _meta }).answer;
    assert.equal(result.resultType, 'complete');
  });

  test('reports to a model by a tool error why its call failed; the text of a bug is hidden', async () => {
    const failing = openBuiltin(async () => {
      throw new HubError('HUB_SERVER_UNKNOWN', 'no server is called "x"');
    });
    const { result } = await failing.relay('tools/call', work).answer;
    assert.deepEqual(result, {
      content: [{ type: 'text', text: 'no server is called "x"' }],
      isError: true,
    });
    const broken = openBuiltin(async () => {
      throw new TypeError('a bug');
    });
    await assert.rejects(broken.relay('tools/call', work).answer, TypeError);
  });

  test('ends a call that is cancelled, and one that takes too long', async () => {
    const { relay, clock, server } = openBuiltin(held);
    const cancelled = relay('tools/call', work);
    assert.equal(server.running?.upstream.inFlight(), 1);
    cancelled.cancel('no need');
    await assert.rejects(cancelled.answer, { code: 'HUB_CALL_CANCELLED', message: /no need/ });
    const late = relay('tools/call', work);
    clock.advance(1_000);
    await assert.rejects(late.answer, { code: 'HUB_CALL_TIMEOUT' });
    assert.equal(server.running?.upstream.inFlight(), 0);
  });
});

/** Opens the upstream of a built-in server with a tool for all, a tool for administrators, and a prompt. */
function openUpstream() {
  const contexts: BuiltinContext[] = [];
  const tool = (name: string, scope: BuiltinTool['scope']): BuiltinTool => ({
    name,
    scope,
    description: JSON.stringify({ name }),
    async call(_args, context) {
      contexts.push(context);
      return { text: name, structured: { name } };
    },
  });
  const server: BuiltinServer = {
    name: 'own',
    description: 'A server of a test.',
    tools: () => [tool('use', 'call'), tool('manage', 'administer')],
    prompts: () => [
      {
        name: 'greet',
        description: '{"name":"greet"}',
        get: async args => ({ description: 'A greeting', text: JSON.stringify(args) }),
      },
    ],
    resources: [],
    changed: () => ({ [Symbol.dispose]() {} }),
  };
  const identity = { capabilities: {}, serverInfo: { name: 'own', version: '1' } };
  const upstream = createBuiltinUpstream(server, identity, {
    clock: createManualClock(),
    elicitation: { ask: async () => undefined },
    notify() {},
  });

  function relay(
    method: string,
    params: object,
    more: { administer?: boolean; clientInfo?: string; ownName?: string } = {},
  ) {
    const { administer = false, clientInfo, ownName } = more;
    const message = { jsonrpc: '2.0', id: 'x', method, params };
    const request = readMessage(Buffer.from(JSON.stringify(message)));
    assert.ok(request.kind === 'request');
    const span = membersOf(request.bytes, request.params)?.get('name');
    const edits: Edit[] = ownName !== undefined && span ? [{ span, text: `"${ownName}"` }] : [];
    return upstream.relay(
      {
        request,
        edits,
        progressToken: undefined,
        answered: ({ bytes }) => JSON.parse(bytes.toString()),
        failed: error => error,
      },
      {
        owner: {
          serverRequest() {},
          notification() {},
          hasOpenRequest: false,
          client: clientInfo === undefined ? undefined : { clientInfo },
        },
        principal: { ...caller, grants: { administer } },
        responseStream: { send() {} },
        progressToken: undefined,
      },
      1_000,
    ).answer;
  }
  return { upstream, relay, contexts };
}

describe('a tool for administrators', () => {
  test.each([
    [true, ['use', 'manage']],
    [false, ['use']],
  ])('is listed to a principal that may administer: %s', async (administer, names) => {
    const { result } = await openUpstream().relay('tools/list', {}, { administer });
    assert.deepEqual(result, { tools: names.map(name => ({ name })) });
  });

  test('is unknown to others, and the error has the name that they used', async () => {
    const { relay, contexts } = openUpstream();
    const ownName = 'manage';
    await assert.rejects(relay('tools/call', { name: 'own_manage' }, { ownName }), {
      code: 'HUB_NAME_UNKNOWN',
      message: /no tool is called "own_manage"/,
    });
    assert.deepEqual(contexts, []);
    const done = await relay('tools/call', { name: 'own_manage' }, { ownName, administer: true });
    assert.deepEqual(done.result.structuredContent, { name: 'manage' });
  });

  test('is neither listed to the hub itself nor callable by it', async () => {
    const { upstream } = openUpstream();
    await assert.rejects(upstream.request('tools/call', { name: 'manage' }, 1_000), {
      code: 'HUB_NAME_UNKNOWN',
    });
    const { bytes } = await upstream.request('tools/list', undefined, 1_000);
    assert.deepEqual(JSON.parse(bytes.toString()).result.tools, [{ name: 'use' }]);
  });
});

describe('a handler knows the name of its client', () => {
  const version = 'io.modelcontextprotocol/protocolVersion';
  const key = 'io.modelcontextprotocol/clientInfo';

  test.each([
    ['of its session', {}, '{"name":"ada"}', 'ada'],
    [
      'of its session, not of a request in it',
      { _meta: { [key]: { name: 'eve' } } },
      '{"name":"ada"}',
      'ada',
    ],
    [
      'of its request',
      { _meta: { [version]: '2026-07-28', [key]: { name: 'eve' } } },
      undefined,
      'eve',
    ],
    ['not where that is no string', {}, '{"name":7}', undefined],
    ['not where there is none', { _meta: 7 }, undefined, undefined],
  ])('%s', async (_, params, clientInfo, name) => {
    const { relay, contexts } = openUpstream();
    await relay(
      'tools/call',
      { name: 'use', ...params },
      clientInfo === undefined ? {} : { clientInfo },
    );
    assert.deepEqual(
      contexts.map(({ client }) => client),
      [name],
    );
  });
});

test('a prompt is one message of a user', async () => {
  const { result } = await openUpstream().relay('prompts/get', {
    name: 'greet',
    arguments: { a: 'b' },
  });
  assert.deepEqual(result, {
    description: 'A greeting',
    messages: [{ role: 'user', content: { type: 'text', text: '{"a":"b"}' } }],
  });
});

test('all of its clients share one instance, and its calls are counted', async () => {
  const { upstream, relay } = openUpstream();
  const state = () => [upstream.onlyCaller(), upstream.onlyOwner(), upstream.isAtWork()];
  assert.deepEqual(state(), ['none', 'none', false]);
  const answer = relay('ping', {});
  assert.deepEqual(state(), ['several', 'several', true]);
  await answer;
  assert.deepEqual(state(), ['none', 'several', false]);
  assert.deepEqual([upstream.inFlight(), upstream.relayed()], [0, 1]);
});
