import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { membersOf, readAnswer, splice } from '#jsonrpc';
import {
  asLegacy,
  completeResult,
  discovered,
  notFoundAsBefore,
  toModernResult,
  withoutClientMetadata,
  withoutTask,
} from '../../../hub/routing/bridge/results.ts';
import { callWith, modernMeta } from '../steps/scripted-call.ts';

/** Returns the response of a server whose result or error is the JSON text. */
const answerOf = (kind: 'result' | 'error', text: string) =>
  readAnswer(Buffer.from(`{"jsonrpc":"2.0","id":5,"${kind}":${text}}`));

const uncached = { ttlMs: 0, cacheScope: 'private' };

describe('a response of an older server, for a client of 2026-07-28,', () => {
  const modern = (kind: 'result' | 'error', text: string, method = 'tools/call') =>
    JSON.parse(toModernResult(answerOf(kind, text).bytes, '"mine"', method).toString());

  test.each([
    ['tools/call', '{}', { resultType: 'complete' }],
    ['tools/call', '{"content":[]}', { resultType: 'complete', content: [] }],
    ['tools/call', '{"resultType":"task"}', { resultType: 'task' }],
    ['tools/call', '{"ttlMs":5}', { resultType: 'complete', ttlMs: 5 }],
    ['tools/list', '{"tools":[]}', { resultType: 'complete', tools: [], ...uncached }],
    [
      'resources/read',
      '{"ttlMs":60000,"cacheScope":"public"}',
      { resultType: 'complete', ...uncached },
    ],
  ])(
    'to %s with %s is marked as complete, and as not cacheable if the result may be cached',
    (method, text, result) => {
      assert.deepEqual(modern('result', text, method), { jsonrpc: '2.0', id: 'mine', result });
    },
  );

  test.each([
    ['the code of an unknown resource', -32002, -32602],
    ['its own code', -32601, -32601],
  ])('that is an error has %s in the newer form', (_, code, expected) => {
    const error = { code, message: 'no', data: { uri: 'x://a' } };
    const { error: converted } = modern('error', JSON.stringify(error), 'resources/read');
    assert.deepEqual(converted, { ...error, code: expected });
  });

  test('that has a duplicate member gets only the id of the client', () => {
    const { bytes } = answerOf('result', '{"a":1,"a":2}');
    assert.equal(
      toModernResult(bytes, '9', 'tools/call').toString(),
      '{"jsonrpc":"2.0","id":9,"result":{"a":1,"a":2}}',
    );
  });
});

describe('the error for an unknown resource, for a client of an older revision,', () => {
  const missing = '{"code":-32602,"message":"no","data":{"uri":"x://a"}}';

  test('has the code of its own from those revisions', () => {
    const converted = notFoundAsBefore(answerOf('error', missing), 'resources/read');
    assert.equal(JSON.parse(converted.toString()).error.code, -32002);
  });

  test.each([
    ['the method reads no resource', 'tools/call', missing],
    ['no URI is named', 'resources/read', '{"code":-32602,"message":"no","data":{}}'],
    ['there are no data', 'resources/read', '{"code":-32602,"message":"no"}'],
    [
      'the URI is not a string',
      'resources/read',
      '{"code":-32602,"message":"no","data":{"uri":1}}',
    ],
    ['the code is another', 'resources/read', '{"code":-32603,"message":"no","data":{"uri":"x"}}'],
  ])('is unchanged if %s', (_, method, text) => {
    const answer = answerOf('error', text);
    assert.equal(notFoundAsBefore(answer, method), answer.bytes);
  });
});

test('a complete result may have its cache lifetime', () => {
  const cache = { ttlMs: 5, cacheScope: 'public' } as const;
  assert.deepEqual(JSON.parse(completeResult({ a: 1 }, cache)), {
    resultType: 'complete',
    a: 1,
    ...cache,
  });
  assert.deepEqual(JSON.parse(completeResult({ a: 1 })), { resultType: 'complete', a: 1 });
});

describe('the result of server/discover for an initialized server', () => {
  const serverInfo = { name: 'own', version: '1' };
  const _meta = { 'io.modelcontextprotocol/serverInfo': serverInfo };

  test.each([
    [
      { capabilities: { tools: {} }, serverInfo },
      { capabilities: { tools: {} }, _meta },
    ],
    [
      { capabilities: { tasks: {}, logging: {} }, serverInfo },
      { capabilities: { logging: {} }, _meta },
    ],
    [
      { capabilities: 7, serverInfo, instructions: 'Be brief.' },
      { capabilities: {}, instructions: 'Be brief.', _meta },
    ],
    [
      { serverInfo, instructions: 7 },
      { capabilities: {}, _meta },
    ],
  ])('with %j is %j', (initialized, expected) => {
    assert.deepEqual(discovered(initialized), expected);
  });

  test('is empty if the initialize result is not an object', () => {
    assert.deepEqual(discovered('nothing'), {
      capabilities: {},
      _meta: { 'io.modelcontextprotocol/serverInfo': undefined },
    });
  });
});

describe('the metadata of a client of 2026-07-28', () => {
  const strip = (params: object) => {
    const call = callWith('tools/call', params);
    return JSON.parse(splice(call.request.bytes, withoutClientMetadata(call)).toString()).params;
  };
  const all = modernMeta({
    'io.modelcontextprotocol/clientInfo': { name: 'ada' },
    'io.modelcontextprotocol/logLevel': 'info',
  });

  test.each([
    ['all', all, {}],
    ['all but its progress token', { ...all, progressToken: 1 }, { progressToken: 1 }],
    ['all but what stands first', { progressToken: 1, ...all }, { progressToken: 1 }],
  ])('does not reach an older server: %s is removed', (_, _meta, left) => {
    assert.deepEqual(strip({ name: 'x', _meta }), { name: 'x', _meta: left });
  });

  test.each([
    ['tools/call', { name: 'x', task: {}, a: 1 }, { name: 'x', a: 1 }],
    ['tools/call', { task: {}, name: 'x' }, { name: 'x' }],
    ['tools/call', { name: 'x' }, { name: 'x' }],
    ['own/method', { task: {} }, { task: {} }],
  ])('does not contain a task: %s with %j', (method, params, expected) => {
    const call = callWith(method, params);
    const text = splice(call.request.bytes, withoutTask(call)).toString();
    assert.deepEqual(JSON.parse(text).params, expected);
  });

  test('is unchanged in a request without it', () => {
    assert.deepEqual(withoutClientMetadata(callWith('tools/call', { name: 'x' })), []);
    assert.deepEqual(withoutClientMetadata(callWith('tools/call', { _meta: 7 })), []);
  });
});

describe('a result of a server of 2026-07-28, for a client of an older revision,', () => {
  const wrappedTool = {
    key: 'list',
    bytes: Buffer.from('{}'),
    legacyBytes: Buffer.from('{"wrapped":true}'),
  };
  const listing = {
    tool: [wrappedTool, { key: 'plain', bytes: Buffer.from('{}') }],
    resource: [],
    template: [],
    prompt: [],
  };

  function legacy(text: string, method = 'tools/call', name = 'plain', own?: string) {
    const answer = answerOf('result', text);
    const call = callWith(method, { name });
    const span = call.params.get('name');
    const edits = own === undefined || !span ? [] : [{ span, text: JSON.stringify(own) }];
    const members = membersOf(answer.bytes, answer.payload);
    const bytes = asLegacy(answer, members, call, edits, { listing });
    return { isSame: bytes === answer.bytes, result: JSON.parse(bytes.toString()).result };
  }

  const wrapped = '"structuredContent":{"result":[1]}';
  const block = '{"type":"text","text":"[1]"}';

  test.each([
    ['without content', '', `${wrapped},"content":[${block}]`],
    ['with no content', '"content":[],', `${wrapped},"content":[${block}]`],
    [
      'with an image',
      '"content":[{"type":"image"}],',
      `${wrapped},"content":[{"type":"image"},${block}]`,
    ],
    [
      'with a text',
      '"content":[{"type":"text","text":"one"}],',
      `${wrapped},"content":[{"type":"text","text":"one"}]`,
    ],
    ['with content that is not a list', '"content":"one",', `${wrapped},"content":"one"`],
  ])('has its list as an object, and a text if it had none: %s', (_, content, expected) => {
    const { result } = legacy(`{${content}"structuredContent":[1]}`);
    assert.deepEqual(result, JSON.parse(`{${expected}}`));
  });

  test.each(['"one"', '1', 'null', 'true'])('has %s as an object', value => {
    const { result } = legacy(`{"content":[],"structuredContent":${value}}`);
    assert.deepEqual(result.structuredContent, { result: JSON.parse(value) });
    assert.deepEqual(result.content, [{ type: 'text', text: value }]);
  });

  test('has an object in an object, if the hub wrapped the schema of the tool', () => {
    const text = '{"content":[],"structuredContent":{"a":1}}';
    const expected = { content: [], structuredContent: { result: { a: 1 } } };
    assert.deepEqual(legacy(text, 'tools/call', 'list').result, expected);
    assert.deepEqual(legacy(text, 'tools/call', 'own_list', 'list').result, expected);
  });

  test('has the schemas of its tools wrapped if they are not objects', () => {
    const { result } = legacy(
      '{"tools":[{"name":"a","outputSchema":{"type":"array"}},{"name":"b"}]}',
      'tools/list',
    );
    const [first, second] = result.tools;
    assert.equal(first.outputSchema.type, 'object');
    assert.deepEqual(first.outputSchema.properties, { result: { type: 'array' } });
    assert.deepEqual(second, { name: 'b' });
  });

  test.each([
    ['its tools have no other schemas', '{"tools":[{"name":"a"}]}', 'tools/list', 'plain'],
    ['there is no structured content', '{"content":[]}', 'tools/call', 'list'],
    ['it is an object', '{"structuredContent":{"a":1}}', 'tools/call', 'plain'],
    ['its tool is not listed', '{"structuredContent":{"a":1}}', 'tools/call', 'other'],
    ['it is of another method', '{"structuredContent":[1]}', 'prompts/get', 'plain'],
    ['a member stands twice', '{"a":1,"a":2,"structuredContent":[1]}', 'tools/call', 'plain'],
  ])('has the same bytes if %s', (_, text, method, name) => {
    assert.equal(legacy(text, method, name).isSame, true);
  });
});
