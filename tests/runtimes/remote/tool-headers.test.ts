import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { readMessage } from '#jsonrpc';
import { createToolHeaders } from '../../../hub/runtimes/remote/tool-headers.ts';
import { call } from '../../contracts/recorder.ts';

const tool = (name: string, header: unknown, type = 'string') => ({
  name,
  unknown: { kept: [1, 'é'] },
  inputSchema: { type: 'object', properties: { region: { type, 'x-mcp-header': header } } },
});
const plain = { name: 'plain', inputSchema: { type: 'object' } };

function requestOf(method: string, params: object) {
  const message = readMessage(call(1, method, params));
  return message.kind === 'request' ? message : assert.fail(message.kind);
}

function answerOf(value: object) {
  const message = readMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...value })));
  return message.kind === 'answer' ? message : assert.fail(message.kind);
}

function open() {
  const warnings: unknown[] = [];
  const headers = createToolHeaders(
    { server: 'tested' },
    { log: { warn: fields => void warnings.push(fields) } },
  );
  const learn = (value: object, params: object = {}) => {
    const answer = answerOf(value);
    const given = headers.learn(answer, requestOf('tools/list', params));
    return { isSame: given === answer, result: JSON.parse(given.bytes.toString()).result };
  };
  return {
    warnings,
    learn,
    /** Reads a page of tools, as of a `tools/list` result. */
    list: (tools: readonly unknown[], params: object = {}) =>
      learn({ result: { tools, nextCursor: 'next' } }, params),
    regionOf: (name: string) =>
      headers.headersOf(requestOf('tools/call', { name, arguments: { region: 'eu' } }))[
        'Mcp-Param-Region'
      ],
    headersOf: (method: string, params: object) => headers.headersOf(requestOf(method, params)),
  };
}

describe('a list of tools', () => {
  test('loses the tools with invalid header declarations, and nothing else', () => {
    const { list, warnings, regionOf } = open();
    const { result } = list([tool('bad', 'no token'), tool('good', 'Region'), plain]);
    assert.deepEqual(result, { tools: [tool('good', 'Region'), plain], nextCursor: 'next' });
    assert.equal(warnings.length, 1);
    assert.match(JSON.stringify(warnings), /"server":"tested","tool":"bad","reason":".+"/);
    assert.equal(regionOf('bad'), undefined);
    assert.equal(regionOf('good'), 'eu');
  });

  test.each<[string, object]>([
    ['whose headers are all allowed', { result: { tools: [tool('good', 'Region'), plain] } }],
    ['without headers', { result: { tools: [plain] } }],
    ['that is none', { result: { tools: 'x-mcp-header' } }],
    ['that is missing', { result: {} }],
    ['that failed', { error: { code: 1, message: 'x-mcp-header' } }],
  ])('%s is passed on unchanged', (_, value) => {
    assert.equal(open().learn(value).isSame, true);
  });

  test('may be left without tools, and with tools that have no name', () => {
    const { list } = open();
    assert.deepEqual(list([tool('bad', 7)]).result.tools, []);
    const unnamed = { inputSchema: tool('', 'Region').inputSchema };
    assert.deepEqual(list([unnamed, 7]).result.tools, [unnamed, 7]);
  });

  test('continues with its next page, and starts again without a cursor', () => {
    const { list, learn, regionOf } = open();
    list([tool('first', 'Region')]);
    list([tool('second', 'Region')], { cursor: 'next' });
    assert.deepEqual([regionOf('first'), regionOf('second')], ['eu', 'eu']);
    learn({ result: { tools: [tool('second', 'Region')] } });
    assert.deepEqual([regionOf('first'), regionOf('second')], [undefined, 'eu']);
    learn({ result: { tools: [plain] } });
    assert.equal(regionOf('second'), undefined);
  });

  test('that is read again keeps the headers of later pages until it is complete', () => {
    const { list, learn, regionOf } = open();
    list([tool('first', 'Region')]);
    learn({ result: { tools: [tool('last', 'Region')] } }, { cursor: 'next' });
    list([tool('new', 'Region')]);
    assert.deepEqual(['first', 'new', 'last'].map(regionOf), ['eu', 'eu', 'eu']);
    learn({ result: { tools: [plain] } }, { cursor: 'next' });
    assert.deepEqual(['first', 'new', 'last'].map(regionOf), [undefined, 'eu', undefined]);
  });

  test('that failed keeps the earlier headers', () => {
    const { list, learn, regionOf } = open();
    list([tool('good', 'Region')]);
    learn({ error: { code: 1, message: 'no' } });
    assert.equal(regionOf('good'), 'eu');
  });

  test('declares headers of ten thousand tools at most', () => {
    const { list, regionOf } = open();
    const many = Array.from({ length: 10_001 }, (_, index) => tool(`t${index}`, 'Region'));
    assert.equal(list(many).result.tools.length, 10_000);
    assert.deepEqual([regionOf('t9999'), regionOf('t10000')], ['eu', undefined]);
  });
});

describe('the headers of a request', () => {
  test.each<[string, object, object]>([
    ['tools/list', {}, { 'Mcp-Method': 'tools/list' }],
    ['tools/call', { name: 'a' }, { 'Mcp-Method': 'tools/call', 'Mcp-Name': 'a' }],
    ['tools/call', {}, { 'Mcp-Method': 'tools/call' }],
    ['prompts/get', { name: 'region' }, { 'Mcp-Method': 'prompts/get', 'Mcp-Name': 'region' }],
  ])('%s %j are %j', (method, params, expected) => {
    const { list, headersOf } = open();
    list([tool('region', 'Region')]);
    assert.deepEqual(headersOf(method, params), expected);
  });
});
