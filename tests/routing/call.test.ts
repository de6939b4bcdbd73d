import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { caller } from '#helpers/principal';
import { membersOf, rawText, splice } from '#jsonrpc';
import { metaEdits } from '#mcp';
import {
  callTo,
  lookalikeIn,
  readCall,
  requireInitialized,
  requireString,
} from '../../hub/routing/call.ts';
import { callOf, callWith, modernMeta, readRequest, sessionOf } from './steps/scripted-call.ts';

const client = { capabilities: '{}', clientInfo: '{}' };
const version = 'io.modelcontextprotocol/protocolVersion';

describe('the era of a request', () => {
  test.each([
    ['legacy', 'tools/call', {}],
    ['legacy', 'tools/call', { _meta: { progressToken: 1 } }],
    ['legacy', 'tools/call', { _meta: 'no object' }],
    ['modern', 'tools/call', { _meta: modernMeta() }],
    ['modern', 'server/discover', { _meta: modernMeta() }],
  ])('is %s for %s with %j', (era, method, params) => {
    assert.equal(callWith(method, params).era, era);
  });

  test.each(['server/discover', 'subscriptions/listen'])(
    'is the newer for %s, which requires its metadata',
    method => {
      assert.throws(() => callWith(method, {}), { code: 'HUB_REQUEST_INVALID' });
    },
  );

  test.each([
    ['no capabilities', { [version]: '2026-07-28' }],
    ['a revision that is no string', modernMeta({ [version]: 7 })],
  ])('is the newer with %s, which is refused', (_, _meta) => {
    assert.throws(() => callWith('tools/call', { _meta }), { code: 'HUB_REQUEST_INVALID' });
  });
});

test.each([
  ['info', 'info'],
  ['loud', 'none'],
  [7, 'none'],
])('a request with the log level %j has %s', (level, expected) => {
  const _meta = modernMeta({ 'io.modelcontextprotocol/logLevel': level });
  assert.equal(callWith('tools/call', { _meta }).logLevel, expected);
});

test('a request of a session has no log level, whatever it contains', () => {
  const _meta = { 'io.modelcontextprotocol/logLevel': 'info' };
  assert.equal(callWith('tools/call', { _meta }).logLevel, undefined);
});

test('a progress token has a maximum size, as it is kept with a task and written into notifications', () => {
  const read = (length: number) =>
    callWith('tools/call', { _meta: { progressToken: 'x'.repeat(length) } });
  assert.equal(read(1_022).meta?.has('progressToken'), true);
  assert.throws(() => read(1_023), {
    code: 'HUB_REQUEST_INVALID',
    message:
      '"params._meta.progressToken" has 1025 bytes, and the hub takes at most 1024. Write a number, or a shorter text',
  });
});

describe('a request that was refused before', () => {
  const read = (text: string) =>
    readCall(readRequest(text), sessionOf(), { send() {} }, caller, 0, true);

  test.each([
    ['a parameter stands twice', 'tools/call', '{"name":"a","name":"b"}'],
    ['a metadata member stands twice', 'tools/call', '{"_meta":{"a":1,"a":2}}'],
    ['metadata are missing', 'server/discover', '{}'],
  ])('is parsed without an error if it has %s', (_, method, params) => {
    const text = `{"jsonrpc":"2.0","id":"x","method":"${method}","params":${params}}`;
    assert.throws(() => callWith(method, params), { code: 'HUB_REQUEST_INVALID' });
    const call = read(text);
    assert.deepEqual([call.id, call.era, call.meta], ['"x"', 'legacy', undefined]);
  });
});

describe('before "initialize"', () => {
  const refusal = { code: 'HUB_REQUEST_INVALID', rpcCode: -32600, message: /came before "init/ };

  test.each(['tools/list', 'logging/setLevel', 'no/such'])('%s is refused', method => {
    assert.throws(() => requireInitialized(callOf(method)), refusal);
  });

  test.each(['initialize', 'ping'])('%s is accepted', method => {
    requireInitialized(callOf(method));
  });

  test('a request of 2026-07-28 is accepted, and so is one without a session', () => {
    requireInitialized(callWith('tools/list', { _meta: modernMeta() }));
    requireInitialized(callWith('tools/list', {}, { session: sessionOf({ isSessionless: true }) }));
  });

  test('requests are refused, but not after it', () => {
    requireInitialized(callWith('tools/list', {}, { session: { ...sessionOf(), client } }));
  });
});

test('a parameter of another type than string is refused with its path', () => {
  const call = callOf('tools/call', { name: 'x', number: 7, none: null });
  const { span, text } = requireString(call, call.params, 'name', 'params.name');
  assert.deepEqual([text, rawText(call.request.bytes, span)], ['x', '"x"']);
  for (const key of ['number', 'none', 'missing'])
    assert.throws(() => requireString(call, call.params, key, `params.${key}`), {
      code: 'HUB_REQUEST_INVALID',
      message: `"params.${key}" must be a string`,
    });
  assert.throws(
    () => requireString(call, undefined, 'name', 'params.ref.name'),
    /params\.ref\.name/,
  );
});

describe('members added to the metadata of a request', () => {
  const edited = (text: string, more?: Record<string, string>) => {
    const request = readRequest(text);
    const { params, meta } = readCall(request, sessionOf(), { send() {} }, caller, 0);
    return JSON.parse(
      splice(request.bytes, metaEdits(request, params, meta, { k: '1' }, more)).toString(),
    ).params;
  };
  const start = '{"jsonrpc":"2.0","id":1,"method":"x"';

  test.each([
    [`${start}}`, { _meta: { k: 1 } }],
    [`${start},"params":{}}`, { _meta: { k: 1 } }],
    [`${start},"params":{"a":"}"}}`, { a: '}', _meta: { k: 1 } }],
    [`${start},"params":{"_meta":{}}}`, { _meta: { k: 1 } }],
    [`${start},"params":{"_meta":{"k":0,"b":2}}}`, { _meta: { k: 1, b: 2 } }],
    [`${start},"params":{"a":1,"_meta":null}}`, { a: 1, _meta: { k: 1 } }],
    [`${start},"params":{"a":1,"_meta":"no object"}}`, { a: 1, _meta: { k: 1 } }],
  ])('are in %s', (text, params) => {
    assert.deepEqual(edited(text), params);
    assert.deepEqual(edited(text, { state: '"s"' }), { ...params, state: 's' }, 'beside another');
  });

  test('replace a parameter of the same name', () => {
    const text = `${start},"params":{"state":"old","_meta":{}}}`;
    assert.deepEqual(edited(text, { state: '"new"' }), { state: 'new', _meta: { k: 1 } });
  });
});

test.each([
  ['tools/call', { name: 'x' }, 'x'],
  ['resources/read', { uri: 'x://a', name: 'y' }, 'x://a'],
  ['tasks/get', { taskId: 't' }, 't'],
  ['tools/call', { name: 7 }, undefined],
  ['tools/list', { name: 'x' }, undefined],
])('%s with %j counts as a call of %j', (method, params, name) => {
  assert.equal(callTo(undefined, callOf(method, params)).name, name);
});

function found(method: string, params: string): string | undefined {
  const request = readRequest(`{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`);
  const members = membersOf(request.bytes, request.params) ?? new Map();
  return lookalikeIn(request, members, membersOf(request.bytes, members.get('_meta')));
}

test.each([
  ['tools/call', '{"name":"a","Name":"b"}', 'params.Name'],
  ['prompts/get', '{"Arguments":{}}', 'params.Arguments'],
  ['tasks/get', '{"taskid":"a"}', 'params.taskid'],
  ['resources/read', '{"uri":"a","_META":{}}', 'params._META'],
  ['tools/call', '{"_meta":{"Progresstoken":1}}', 'params._meta.Progresstoken'],
  ['completion/complete', '{"ref":{"URI":"a"}}', 'params.ref.URI'],
])('%s with %s is refused', (method, params, member) => {
  assert.match(String(found(method, params)), new RegExp(`^"${member}" is not "`));
});

test.each([
  ['tools/call', '{"name":"a","arguments":{"Name":1},"_meta":{"Name":1,"progressToken":1}}'],
  ['tools/call', '{"name":"a","other":1}'],
  ['vendor/method', '{"Name":"a"}'],
  ['resources/read', '{"uri":"a","_meta":"no object"}'],
])('%s with %s is accepted', (method, params) => {
  assert.equal(found(method, params), undefined);
});
