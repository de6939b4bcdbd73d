import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { type Request, membersOf, readMessage } from '#jsonrpc';
import {
  type ParamHeader,
  decodeHeaderValue,
  encodeHeaderValue,
  headerMismatch,
  headersFor,
  nameMember,
} from '#mcp';
import { createRandom } from '../jsonrpc/random-json.ts';

function requestOf(method: string, params?: object | string): Request {
  const text = typeof params === 'string' ? params : JSON.stringify(params ?? {});
  const message = readMessage(
    Buffer.from(`{"jsonrpc":"2.0","id":1,"method":${JSON.stringify(method)},"params":${text}}`),
  );
  return message.kind === 'request' ? message : assert.fail(JSON.stringify(message));
}

const call = (given: object | string) =>
  requestOf(
    'tools/call',
    typeof given === 'string'
      ? `{"name":"t","arguments":${given}}`
      : { name: 't', arguments: given },
  );

const region: ParamHeader = { header: 'Mcp-Param-Region', path: ['region'] };
const limit: ParamHeader = { header: 'Mcp-Param-Limit', path: ['options', 'limit'] };

const problem = (
  request: Request,
  headers: Readonly<Record<string, string>>,
  declared: readonly ParamHeader[] = [],
) => headerMismatch(headers, request, membersOf(request.bytes, request.params), declared);

describe('the value of a header', () => {
  const encoded: readonly (readonly [string, string])[] = [
    ['us-west1', 'us-west1'],
    ['us west 1', 'us west 1'],
    ['a\tb', 'a\tb'],
    ['=?base64?SGVsbG8=', '=?base64?SGVsbG8='],
    ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
    [' padded ', '=?base64?IHBhZGRlZCA=?='],
    ['\tindented', '=?base64?CWluZGVudGVk?='],
    ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
    ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
    ['=?base64?=', '=?base64?PT9iYXNlNjQ/PQ==?='],
    ['\x7f', '=?base64?fw==?='],
    ['', '=?base64??='],
  ];
  for (const [text, value] of encoded)
    test(`for ${JSON.stringify(text)} is ${value}`, () => {
      assert.equal(encodeHeaderValue(text), value);
      assert.equal(decodeHeaderValue(value), text);
    });

  test('that is empty is an empty text', () => assert.equal(decodeHeaderValue(''), ''));

  const refused: readonly (readonly [string, string])[] = [
    ['Base64 without its padding', '=?base64?SGVsbG8?='],
    ['Base64 with too much padding', '=?base64?SGVsbG8==?='],
    ['characters that are not in the alphabet', '=?base64?SGVs!!!bG8=?='],
    ['the alphabet of URLs', '=?base64?_-8=?='],
    ['Base64 with bits after its end', '=?base64?SGVsbG9=?='],
    ['white space in Base64', '=?base64?SGVs bG8=?='],
    ['bytes that are not UTF-8', '=?base64?/w==?='],
    ['a beginning that is the end as well', '=?base64?='],
    ['characters beyond ASCII', 'Région'],
    ['a control character', 'a\x01b'],
  ];
  for (const [what, value] of refused)
    test(`with ${what} is invalid`, () => assert.equal(decodeHeaderValue(value), undefined));

  test('is decoded to the text that was encoded, for random texts', () => {
    const random = createRandom(5);
    for (let round = 0; round < 2_000; round++) {
      const text = Array.from({ length: Math.floor(random() * 12) }, () =>
        String.fromCodePoint(Math.floor(random() * (random() < 0.8 ? 0x80 : 0xd7ff))),
      ).join('');
      const value = encodeHeaderValue(text);
      assert.match(value, /^[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?$/);
      assert.equal(decodeHeaderValue(value), text, JSON.stringify(text));
    }
  });
});

test('Mcp-Name repeats the name, the URI or the task of the methods that have one', () => {
  const rows = {
    'tools/call': 'name',
    'prompts/get': 'name',
    'resources/read': 'uri',
    'tasks/get': 'taskId',
    'tasks/update': 'taskId',
    'tasks/cancel': 'taskId',
  };
  for (const [method, member] of Object.entries(rows)) assert.equal(nameMember(method), member);
  for (const method of ['tools/list', 'completion/complete', 'constructor', ''])
    assert.equal(nameMember(method), undefined, method);
});

describe('the headers for a request', () => {
  test('are its method and its name', () => {
    assert.deepEqual(headersFor(requestOf('tools/list'), []), { 'Mcp-Method': 'tools/list' });
    assert.deepEqual(headersFor(requestOf('resources/read', { uri: 'file:///ü' }), []), {
      'Mcp-Method': 'resources/read',
      'Mcp-Name': '=?base64?ZmlsZTovLy/DvA==?=',
    });
    assert.deepEqual(headersFor(requestOf('tools/call', { name: 7 }), []), {
      'Mcp-Method': 'tools/call',
    });
  });

  test('contain the arguments that the tool declares, as text', () => {
    const declared = [region, limit];
    const headers = (given: object | string) => {
      const {
        'Mcp-Method': _method,
        'Mcp-Name': _name,
        ...rest
      } = headersFor(call(given), declared);
      return rest;
    };
    assert.deepEqual(headers({ region: 'us west', options: { limit: 42 } }), {
      'Mcp-Param-Region': 'us west',
      'Mcp-Param-Limit': '42',
    });
    assert.deepEqual(headers('{"region":false,"options":{"limit":-7.0}}'), {
      'Mcp-Param-Region': 'false',
      'Mcp-Param-Limit': '-7',
    });
    assert.deepEqual(headers({ region: '' }), { 'Mcp-Param-Region': '=?base64??=' });
    for (const none of [
      {},
      { region: null, options: null },
      { region: ['a'], options: [1] },
      '{"options":{"limit":9007199254740993}}',
      '{"options":{"limit":1e400}}',
      '{"region":"a","region":"b"}',
    ])
      assert.deepEqual(headers(none), {}, JSON.stringify(none));
  });

  test('match the request that they were made for', () => {
    const request = call({ region: ' ü ', options: { limit: 1.5 } });
    const headers = Object.fromEntries(
      Object.entries(headersFor(request, [region, limit])).map(([name, value]) => [
        name.toLowerCase(),
        value,
      ]),
    );
    assert.equal(problem(request, headers, [region, limit]), undefined);
  });
});

describe('headers and body', () => {
  const method = { 'mcp-method': 'tools/call' };
  const named = { ...method, 'mcp-name': 't' };

  test('match if they are equal', () => {
    assert.equal(problem(requestOf('tools/list'), { 'mcp-method': 'tools/list' }), undefined);
    assert.equal(problem(call({}), named), undefined);
    assert.equal(problem(call({}), { ...method, 'mcp-name': '=?base64?dA==?=' }), undefined);
    assert.equal(
      problem(requestOf('tools/list'), { 'mcp-method': 'tools/list', 'mcp-name': 'x' }),
      undefined,
      'a name that repeats nothing',
    );
    assert.equal(problem(requestOf('tools/call', {}), method), undefined, 'no name in the body');
  });

  test('differ if a header is missing, differs or cannot be decoded', () => {
    assert.equal(
      problem(requestOf('tools/list'), {}),
      'the header Mcp-Method is missing: it must repeat the method "tools/list"',
    );
    assert.equal(
      problem(requestOf('tools/list'), { 'mcp-method': 'TOOLS/LIST' }),
      'the header Mcp-Method is "TOOLS/LIST": it must repeat the method "tools/list"',
    );
    assert.equal(
      problem(call({}), method),
      'the header Mcp-Name is missing: it must repeat params.name "t"',
    );
    assert.equal(
      problem(call({}), { ...method, 'mcp-name': 'T' }),
      'the header Mcp-Name is "T": it must repeat params.name "t"',
    );
    assert.match(problem(call({}), { ...method, 'mcp-name': '=?base64?dA=?=' }) ?? '', /Mcp-Name/);
  });

  test('differ if the name in the body is not a string, whatever the header is', () => {
    for (const [name, is] of [
      [1, '"1"'],
      [null, '"null"'],
      [['t'], String.raw`"[\"t\"]"`],
      [undefined, 'missing'],
    ] as const)
      assert.equal(
        problem(requestOf('tools/call', { name }), { ...method, 'mcp-name': '1' }),
        `the header Mcp-Name is "1": it must repeat params.name, which must be a string and is ${is}`,
      );
    assert.equal(
      problem(requestOf('resources/read', { uri: 1 }), { 'mcp-method': 'resources/read' }),
      'the header Mcp-Name is missing: it must repeat params.uri, which must be a string and is "1"',
    );
    const long = problem(requestOf('tools/call', { name: { a: 'x'.repeat(1000) } }), method);
    assert.ok(long && long.length < 250, long);
  });

  const agreeing: readonly (readonly [string, object | string, string | undefined])[] = [
    ['a string', { region: 'a' }, 'a'],
    ['a string in Base64', { region: 'Hello' }, '=?base64?SGVsbG8=?='],
    ['a string that looks like Base64', { region: 'SGVsbG8=' }, 'SGVsbG8='],
    ['a string that begins like Base64', { region: '=?base64?SGVsbG8=' }, '=?base64?SGVsbG8='],
    ['an integer', { region: 42 }, '42'],
    ['an integer written with a fraction', { region: 42 }, '42.0'],
    ['an integer with a fraction in the body', '{"region":42.0}', '42'],
    ['a boolean', { region: true }, 'true'],
    ['null and no header', { region: null }, undefined],
    ['nothing and no header', {}, undefined],
    ['null and any header', { region: null }, 'x'],
    ['an object and no header', { region: {} }, undefined],
    ['an integer above the safe ones and no header', '{"region":9007199254740993}', undefined],
  ];
  for (const [what, given, value] of agreeing)
    test(`match on ${what}`, () => {
      const headers = value === undefined ? named : { ...named, 'mcp-param-region': value };
      assert.equal(problem(call(given), headers, [region]), undefined);
    });

  const disagreeing: readonly (readonly [string, object | string, string | undefined])[] = [
    ['a string without a header', { region: 'a' }, undefined],
    ['an empty string without a header', { region: '' }, undefined],
    ['another string', { region: 'a' }, 'b'],
    ['the case of a string', { region: 'a' }, 'A'],
    ['a string in bad Base64', { region: 'Hello' }, '=?base64?SGVsbG8?='],
    ['bad Base64 for nothing', {}, '=?base64?!?='],
    ['another integer', { region: 42 }, '43'],
    ['an integer that is no decimal', { region: 42 }, '0x2a'],
    ['zero and nothing', { region: 0 }, ''],
    ['a boolean as a number', { region: true }, '1'],
    ['an argument that stands twice', '{"region":"a","region":"b"}', 'a'],
  ];
  for (const [what, given, value] of disagreeing)
    test(`differ on ${what}`, () => {
      const headers = value === undefined ? named : { ...named, 'mcp-param-region': value };
      assert.match(problem(call(given), headers, [region]) ?? '', /region/i);
    });

  test('are compared inside objects too', () => {
    const headers = { ...named, 'mcp-param-limit': '5' };
    assert.equal(problem(call({ options: { limit: 5 } }), headers, [limit]), undefined);
    assert.equal(
      problem(call({ options: { limit: 6 } }), headers, [limit]),
      'the header Mcp-Param-Limit is "5": it must repeat params.arguments.options.limit "6"',
    );
  });

  test('differ with a message that has a bounded part of the values', () => {
    const long = 'x'.repeat(10_000);
    const text = problem(call({ region: long }), { ...named, 'mcp-param-region': `${long}y` }, [
      region,
    ]);
    assert.ok(text && text.length < 500, String(text?.length));
  });
});
