import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { metaKeys } from '#mcp';
import {
  modernHeaders as headersOf,
  modernMeta as meta,
  modernRequest as requestOf,
  postModern as post,
  send,
} from './raw.ts';
import { startStub } from './stub-router.ts';

const version = '2026-07-28';
const complete = { result: { resultType: 'complete' } };

describe('a refused request', () => {
  const tool = {
    inputSchema: {
      type: 'object',
      properties: {
        region: { type: 'string', 'x-mcp-header': 'Region' },
        limit: { type: 'integer', 'x-mcp-header': 'Limit' },
      },
    },
  };
  const wrong = { inputSchema: { properties: { a: { type: 'number', 'x-mcp-header': 'A' } } } };
  const tools = { regional: tool, wrong };
  const callOf = (given: object, name = 'regional') =>
    requestOf(1, 'tools/call', { name, arguments: given });
  const calling = headersOf('tools/call', 'regional');
  const region = { ...calling, 'mcp-param-region': 'us' };
  const listing = headersOf('tools/list');
  const { 'mcp-protocol-version': _version, ...unversioned } = listing;
  const { 'mcp-method': _method, ...unnamed } = listing;
  const list = requestOf(1, 'tools/list');
  const claiming = (claimed: object) => ({ ...list, params: { _meta: claimed } });
  const answer = { jsonrpc: '2.0', id: 1, result: {} };

  /** The request, and the status, code and id of the response. */
  const rows: readonly (readonly [
    string,
    Readonly<Record<string, string>>,
    string | object,
    number,
    number,
    unknown,
  ])[] = [
    ['no metadata', listing, { ...list, params: {} }, 400, -32602, 1],
    ['no params', listing, { jsonrpc: '2.0', id: 'a', method: 'tools/list' }, 400, -32602, 'a'],
    [
      'no version in the metadata',
      listing,
      claiming({ [metaKeys.clientCapabilities]: {} }),
      400,
      -32602,
      1,
    ],
    [
      'no capabilities in the metadata',
      listing,
      claiming({ [metaKeys.protocolVersion]: version }),
      400,
      -32602,
      1,
    ],
    [
      'capabilities that are no object',
      listing,
      claiming({ ...meta, [metaKeys.clientCapabilities]: [] }),
      400,
      -32602,
      1,
    ],
    [
      'a version that is no string',
      listing,
      claiming({ ...meta, [metaKeys.protocolVersion]: 1 }),
      400,
      -32602,
      1,
    ],
    [
      'metadata twice',
      listing,
      `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":${JSON.stringify(meta)},"_meta":{}}}`,
      400,
      -32602,
      1,
    ],
    ['a version without its header', unversioned, list, 400, -32020, 1],
    [
      'a version that the header does not repeat',
      listing,
      claiming({ ...meta, [metaKeys.protocolVersion]: 'v999.0.0' }),
      400,
      -32020,
      1,
    ],
    [
      'a sessionful version in the header',
      { ...listing, 'mcp-protocol-version': '2025-11-25' },
      list,
      400,
      -32020,
      1,
    ],
    [
      'a version that is unknown',
      { ...listing, 'mcp-protocol-version': 'v999.0.0' },
      claiming({ ...meta, [metaKeys.protocolVersion]: 'v999.0.0' }),
      400,
      -32022,
      1,
    ],
    [
      'a sessionful version without a session',
      { ...listing, 'mcp-protocol-version': '2025-11-25' },
      claiming({ ...meta, [metaKeys.protocolVersion]: '2025-11-25' }),
      400,
      -32022,
      1,
    ],
    ['no Mcp-Method', unnamed, list, 400, -32020, 1],
    ['another Mcp-Method', { ...listing, 'mcp-method': 'prompts/list' }, list, 400, -32020, 1],
    [
      'Mcp-Method in another case',
      { ...listing, 'mcp-method': 'TOOLS/LIST' },
      list,
      400,
      -32020,
      1,
    ],
    ['no Mcp-Name', headersOf('tools/call'), callOf({}), 400, -32020, 1],
    ['another Mcp-Name', headersOf('tools/call', 'other'), callOf({}), 400, -32020, 1],
    [
      'a Mcp-Name in bad Base64',
      { ...calling, 'mcp-name': '=?base64?cmVnaW9uYWw?=' },
      callOf({}),
      400,
      -32020,
      1,
    ],
    ['no Mcp-Param', calling, callOf({ region: 'us' }), 400, -32020, 1],
    ['another Mcp-Param', region, callOf({ region: 'eu' }), 400, -32020, 1],
    [
      'a Mcp-Param in bad Base64',
      { ...calling, 'mcp-param-region': '=?base64?SGVsbG8?=' },
      callOf({ region: 'Hello' }),
      400,
      -32020,
      1,
    ],
    ['a batch', listing, [list], 400, -32600, null],
    ['an answer', listing, answer, 400, -32600, null],
    ['what is not JSON', listing, '{', 400, -32700, null],
    ['what is not a message', listing, {}, 400, -32600, null],
  ];
  for (const [what, headers, body, status, code, id] of rows)
    test(`is ${what}: ${status} and ${code}`, async () => {
      await using stub = await startStub({ tools, answer: opened => opened.answer(complete) });
      const response = await send(stub.url, { method: 'POST', headers, body });
      const text = await response.body();
      assert.equal(response.status, status, text);
      const { error, id: answered } = await response.json();
      assert.match(JSON.stringify(error), new RegExp(`"code":${code},`));
      assert.equal(answered, id);
      assert.equal(stub.opened.length, 0, 'nothing was begun');
    });

  test('is not one that matches its headers', async () => {
    await using stub = await startStub({ tools, answer: opened => opened.answer(complete) });
    const taken: readonly (readonly [Readonly<Record<string, string>>, object])[] = [
      [region, callOf({ region: 'us' })],
      [{ ...region, 'mcp-param-limit': '5.0' }, callOf({ region: 'us', limit: 5 })],
      [{ ...calling, 'mcp-param-region': '=?base64?dXM=?=' }, callOf({ region: 'us' })],
      [calling, callOf({ region: null })],
      [calling, callOf({})],
      [headersOf('tools/call', 'wrong'), callOf({ a: 1 }, 'wrong')],
      [headersOf('tools/call', 'unknown'), callOf({ region: 'us' }, 'unknown')],
      [
        headersOf('resources/read', 'file:///ü'),
        requestOf(1, 'resources/read', { uri: 'file:///ü' }),
      ],
    ];
    for (const [headers, body] of taken) {
      const response = await send(stub.url, { method: 'POST', headers, body });
      assert.equal(response.status, 200, await response.body());
    }
  });

  test('has the supported versions and the requested one in its error', async () => {
    await using stub = await startStub();
    const response = await post(stub.url, 'server/discover', {
      headers: { 'mcp-protocol-version': '2027-01-01' },
      params: { _meta: { ...meta, [metaKeys.protocolVersion]: '2027-01-01' } },
    });
    const { error } = await response.json();
    const { data } = JSON.parse(JSON.stringify(error));
    assert.deepEqual(data, {
      code: 'HUB_VERSION_UNSUPPORTED',
      supported: ['2026-07-28'],
      requested: '2027-01-01',
    });
  });

  test('is one with another HTTP method than POST', async () => {
    await using stub = await startStub();
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const headers = { accept: 'text/event-stream', 'mcp-protocol-version': version };
      const response = await send(stub.url, { method, headers });
      assert.equal(response.status, 405, method);
      assert.equal(response.headers.allow, 'POST');
    }
  });
});
