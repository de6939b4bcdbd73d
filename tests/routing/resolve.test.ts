import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { encodeError, encodeResult, splice } from '#jsonrpc';
import type { Endpoint } from '#routing';
import type { Call } from '../../hub/routing/call.ts';
import { resolveCall } from '../../hub/routing/resolve.ts';
import { revisionOf } from '../../hub/routing/client-identity.ts';
import { createScriptedNeeds } from './scripted-needs.ts';
import { createScriptedServer, itemOf } from './scripted-server.ts';
import { callWith, modernMeta, sessionOf } from './steps/scripted-call.ts';

const items = {
  tool: [itemOf('name', 'a')],
  prompt: [itemOf('name', 'p')],
  resource: [itemOf('uri', 'x://a')],
  template: [itemOf('uriTemplate', 'x://n/{name}')],
};
const { server: one } = createScriptedServer({ name: 'one' }, { items });
const { server: two } = createScriptedServer({ name: 'two' }, { items });
const { needs } = createScriptedNeeds([{ server: one }, { server: two }]);
const client = { capabilities: '{}', clientInfo: '{}' };

/** Creates a request of an initialized session. */
const legacy = (method: string, params: object, endpoint: Endpoint = 'all') =>
  callWith(method, params, { session: { ...sessionOf({ endpoint }), client } });

/** Creates a request of a client of 2026-07-28. */
const modern = (method: string, params: object, endpoint: Endpoint = 'all', meta: object = {}) =>
  callWith(
    method,
    { ...params, _meta: modernMeta(meta) },
    { session: sessionOf({ endpoint, isSessionless: true }) },
  );

const endpoints = [
  ['all servers', 'all'],
  ['one server', one],
] as const;

function assertRefused(call: Call, expected: object): void {
  const { answer } = resolveCall(call, needs);
  assert.ok(answer, 'the hub answers it');
  assert.throws(() => answer(), expected);
}

/** Returns the server that a call is sent to, and its edited params. */
function sentTo(call: Call) {
  const { server, edits, answer, remembered, name } = resolveCall(call, needs);
  assert.equal(answer, undefined, 'the hub does not answer it');
  const { params } = JSON.parse(splice(call.request.bytes, edits).toString());
  return { server: server?.config.name, params, remembered, name };
}

describe.each(endpoints)('at the endpoint of %s', (_, endpoint) => {
  test('a request with the method of a notification is refused, as a server may act on it', () => {
    for (const make of [legacy, modern])
      assertRefused(make('notifications/cancelled', { requestId: 1 }, endpoint), {
        rpcCode: -32601,
        message: /no method "notifications\/cancelled" that is answered/,
      });
  });

  test.each(['initialize', 'ping', 'logging/setLevel', 'resources/subscribe'])(
    '%s is not a method of 2026-07-28',
    method =>
      assertRefused(modern(method, { uri: 'x://a', level: 'info' }, endpoint), {
        rpcCode: -32601,
        message: `MCP 2026-07-28 has no method "${method}"`,
      }),
  );

  test('a request of a session that is not initialized is refused', () => {
    assertRefused(callWith('tools/list', {}, { session: sessionOf({ endpoint }) }), {
      rpcCode: -32600,
    });
  });
});

test('a method has a maximum length, as logs and errors contain it', () => {
  sentTo(legacy(`vendor/${'x'.repeat(249)}`, {}, one));
  const refusal = { code: 'HUB_REQUEST_INVALID', message: /the method has 257 characters/ };
  for (const endpoint of ['all', one] as const)
    assertRefused(legacy(`vendor/${'x'.repeat(250)}`, {}, endpoint), refusal);
});

test('an unknown method is passed on to the one server, but not at the endpoint of all', () => {
  assert.deepEqual(sentTo(legacy('vendor/method', { a: 1 }, one)), {
    server: 'one',
    params: { a: 1 },
    remembered: undefined,
    name: undefined,
  });
  assertRefused(legacy('vendor/method', { a: 1 }), { rpcCode: -32601 });
});

describe('on the endpoint of all servers', () => {
  test.each([
    ['tools/call', { name: 'two_a' }, { name: 'a' }, 'two_a'],
    ['prompts/get', { name: 'two_p' }, { name: 'p' }, 'two_p'],
    ['resources/read', { uri: 'two+x://a' }, { uri: 'x://a' }, 'two+x://a'],
    ['resources/read', { uri: 'two+x://n/b' }, { uri: 'x://n/b' }, 'two+x://n/b'],
    [
      'completion/complete',
      { ref: { type: 'ref/prompt', name: 'two_p' } },
      { ref: { type: 'ref/prompt', name: 'p' } },
      undefined,
    ],
    [
      'completion/complete',
      { ref: { type: 'ref/resource', uri: 'two+x://n/{name}' } },
      { ref: { type: 'ref/resource', uri: 'x://n/{name}' } },
      undefined,
    ],
    [
      'completion/complete',
      { ref: { type: 'ref/resource', uri: 'two+x://a' } },
      { ref: { type: 'ref/resource', uri: 'x://a' } },
      undefined,
    ],
  ])('%s of %j reaches its server as %j', (method, params, sent, name) => {
    assert.deepEqual(sentTo(legacy(method, params)), {
      server: 'two',
      params: sent,
      remembered: undefined,
      name,
    });
  });

  test('a name that is the same for both is not rewritten', () => {
    assert.deepEqual(resolveCall(legacy('resources/read', { uri: 'x://a' }), needs).edits, []);
  });

  test.each([
    ['resources/read', { uri: 'no://such' }, -32002, -32602],
    ['tools/call', { name: 'a' }, undefined, undefined],
  ])('%s of %j is refused in the form of each revision', (method, params, older, newer) => {
    const code = 'HUB_NAME_UNKNOWN';
    assertRefused(legacy(method, params), { code, ...(older && { rpcCode: older }) });
    assertRefused(modern(method, params), { code, ...(newer && { rpcCode: newer }) });
  });
});

describe('the response about a renamed resource', () => {
  const restored = (bytes: Buffer) => {
    const { restored: restore } = resolveCall(
      legacy('resources/read', { uri: 'two+x://a' }),
      needs,
    );
    assert.ok(restore);
    return restore(bytes);
  };
  const result = (text: string) => encodeResult('1', text);

  test('has the name that the client requested, in each of its contents', () => {
    const contents = ['x://a', 'x://beside', 'x://a'].map(uri => ({ uri, text: 'x://a' }));
    const answer = JSON.parse(restored(result(JSON.stringify({ contents }))).toString());
    assert.deepEqual(
      answer.result.contents,
      ['two+x://a', 'x://beside', 'two+x://a'].map(uri => ({ uri, text: 'x://a' })),
    );
  });

  test('has that name in the data of an error', () => {
    const bytes = encodeError('1', -32002, 'x://a is unknown', { uri: 'x://a' });
    const { error } = JSON.parse(restored(bytes).toString());
    assert.deepEqual([error.data.uri, error.message], ['two+x://a', 'x://a is unknown']);
  });

  test.each([
    ['no contents', result('{}')],
    ['contents that are no list', result('{"contents":{"uri":"x://a"}}')],
    ['contents that are no objects', result('{"contents":["x://a",null]}')],
    ['a URI that is no string', result('{"contents":[{"uri":["x://a"]}]}')],
    ['a member that stands twice', result('{"contents":[{"uri":"x://a","uri":"x://a"}]}')],
    ['an error without data', encodeError('1', -32603, 'no')],
  ])('has the same bytes with %s', (_, bytes) => {
    assert.equal(restored(bytes), bytes);
  });

  test('is not parsed if the client used the name of the server', () => {
    assert.equal(
      resolveCall(legacy('resources/read', { uri: 'x://a' }), needs).restored,
      undefined,
    );
  });
});

describe('a call that may create a task is recorded', () => {
  const task = { ttl: 1 };
  const knows = {
    'io.modelcontextprotocol/clientCapabilities': {
      extensions: { 'io.modelcontextprotocol/tasks': {} },
    },
  };

  test.each([
    ['of a session that asks for one', legacy('tools/call', { name: 'one_a', task }), 'task'],
    ['not of a session that asks for none', legacy('tools/call', { name: 'one_a' }), undefined],
    [
      'of a client of 2026-07-28 that knows tasks',
      modern('tools/call', { name: 'one_a' }, 'all', knows),
      'public_task',
    ],
    [
      'not of one that does not, whatever it asks for',
      modern('tools/call', { name: 'one_a', task }),
      undefined,
    ],
    ['at the endpoint of one server', legacy('any/thing', { task }, one), 'task'],
    ['also of a completion there', legacy('completion/complete', { task }, one), 'task'],
  ])('%s', (_, call, kind) => {
    assert.equal(sentTo(call).remembered?.kind, kind);
  });

  test('and refused at the endpoint of one server for a client that could never request it', () => {
    const session = sessionOf({ endpoint: one, isSessionless: true });
    assertRefused(callWith('tools/call', { name: 'a', task }, { session }), {
      code: 'HUB_REQUEST_INVALID',
      message: /a task outlives its request/,
    });
  });
});

test.each(['resources/subscribe', 'resources/unsubscribe'])(
  '%s without a URI is passed on, for the one server to refuse',
  method => {
    assert.equal(sentTo(legacy(method, { uri: 7 }, one)).server, 'one');
    assert.ok(resolveCall(legacy(method, { uri: 'x://a' }, one), needs).answer);
  },
);

test.each([
  ['modern', '2024-11-05', '2026-07-28'],
  ['legacy', '2024-11-05', '2024-11-05'],
  ['legacy', undefined, '2025-11-25'],
] as const)('the lists of a %s client of %s are those of %s', (era, protocolVersion, revision) => {
  assert.equal(revisionOf({ era, session: { protocolVersion } }), revision);
});
