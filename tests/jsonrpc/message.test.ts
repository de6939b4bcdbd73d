import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { describe, test } from 'vitest';
import { isObject } from '#core';
import { createLookalikes, rawText, readMessage, readMessages, valueOf } from '#jsonrpc';
import { maxDepth } from '../../hub/jsonrpc/scan.ts';
import { createRandom, mutate, randomJson } from './random-json.ts';

/** Summarizes a message as text: its kind, its id as written, its method and its payload. */
function brief(text: string): string {
  const message = readMessage(Buffer.from(text));
  const raw = (span: { readonly start: number; readonly end: number } | undefined) =>
    span && message.kind !== 'malformed' ? rawText(message.bytes, span) : 'none';
  switch (message.kind) {
    case 'request':
      return `request ${raw(message.id)} ${message.method} ${raw(message.params)}`;
    case 'notification':
      return `notification ${message.method} ${raw(message.params)}`;
    case 'answer':
      return `${message.failed ? 'error' : 'result'} ${raw(message.id)} ${raw(message.payload)}`;
    case 'malformed':
      return `${message.cause}: ${message.detail}`;
  }
}

describe('a message is read:', () => {
  test.for([
    ['{"jsonrpc":"2.0","id":1,"method":"ping"}', 'request 1 ping none'],
    ['{"jsonrpc":"2.0","id":1,"method":"a/b","params":{}}', 'request 1 a/b {}'],
    ['{"params":{"a":[1]},"method":"x","jsonrpc":"2.0","id":1}', 'request 1 x {"a":[1]}'],
    ['{"jsonrpc":"2.0","method":"notifications/x"}', 'notification notifications/x none'],
    ['{"jsonrpc":"2.0","id":1,"result":{}}', 'result 1 {}'],
    ['{"result":null,"jsonrpc":"2.0","id":1}', 'result 1 null'],
    ['{"jsonrpc":"2.0","id":1,"error":{"code":1}}', 'error 1 {"code":1}'],
    ['{"jsonrpc":"2.0","id":null,"error":{"code":1}}', 'error none {"code":1}'],
    ['{"jsonrpc":"2.0","error":{"code":1}}', 'error none {"code":1}'],
    [' \t{ "jsonrpc" : "2.0" , "id" : 1 , "method" : "x" } \t', 'request 1 x none'],
    ['{"jsonrpc":"2.0","id":1,"method":"x","unknown":{"id":2}}', 'request 1 x none'],
    ['{"jsonrpc":"2.0","id":1,"method":"t\\u006fols\\/list"}', 'request 1 tools/list none'],
    ['{"jsonrpc":"2.0","\\u0069d":1,"\\u006dethod":"x"}', 'request 1 x none'],
    ['{"jsonrpc":"2.0","id":1,"method":""}', 'request 1  none'],
    ['{"jsonrpc":"2.0","id":1,"method":"größe 😀"}', 'request 1 größe 😀 none'],
  ] as const)('%s', ([text, expected]) => assert.equal(brief(text), expected));
});

describe('strings and integers are ids, and keep their bytes', () => {
  for (const id of ['1', '0', '-1', '"1"', '""', '"a\\u0062"', '"漢"', '12345678901234567890'])
    test(id, () => {
      assert.equal(brief(`{"jsonrpc":"2.0","id":${id},"method":"x"}`), `request ${id} x none`);
      assert.equal(brief(`{"jsonrpc":"2.0","id":${id},"result":1}`), `result ${id} 1`);
    });
  for (const id of ['1.0', '1e3', '1E3', 'null', 'true', '{}', '[1]'])
    test(`but not ${id}`, () => {
      const refused = 'not_json_rpc: "id" must be a string or an integer';
      assert.equal(brief(`{"jsonrpc":"2.0","id":${id},"method":"x"}`), refused);
      assert.equal(brief(`{"jsonrpc":"2.0","id":${id},"result":1}`), refused);
    });
});

describe('a message is refused:', () => {
  test.for([
    ['', 'not_json: the bytes are not JSON'],
    ['hello', 'not_json: the bytes are not JSON'],
    ['{"jsonrpc":"2.0","id":1,"method":"x"', 'not_json: the bytes are not JSON'],
    ['{"jsonrpc":"2.0","id":1,"method":"x"}}', 'not_json: more follows after the message'],
    ['{"jsonrpc":"2.0","id":1,"method":"x"} {}', 'not_json: more follows after the message'],
    ['\ufeff{"jsonrpc":"2.0","id":1,"method":"x"}', 'not_json: the bytes are not JSON'],
    ['{"jsonrpc":"2.0","id":01,"method":"x"}', 'not_json: the bytes are not JSON'],
    ['{"jsonrpc":"2.0","id":1,"method":"a\nb"}', 'not_json: the bytes are not JSON'],
    ['{"jsonrpc":"2.0","id":1,"result":"a\rb"}', 'not_json: the bytes are not JSON'],
    ['{"jsonrpc":"2.0","id":1,"result":{"a":tru}}', 'not_json: the bytes are not JSON'],
    ['1', 'not_json_rpc: a message is a JSON object'],
    ['"text"', 'not_json_rpc: a message is a JSON object'],
    ['null', 'not_json_rpc: a message is a JSON object'],
    ['{}', 'not_json_rpc: "jsonrpc" must be "2.0"'],
    ['{"id":1,"method":"x"}', 'not_json_rpc: "jsonrpc" must be "2.0"'],
    ['{"jsonrpc":"1.0","id":1,"method":"x"}', 'not_json_rpc: "jsonrpc" must be "2.0"'],
    ['{"jsonrpc":2.0,"id":1,"method":"x"}', 'not_json_rpc: "jsonrpc" must be "2.0"'],
    ['{"jsonrpc":"2.0","id":1,"id":2,"result":1}', 'not_json_rpc: "id" stands twice'],
    ['{"jsonrpc":"2.0","id":1,"\\u0069d":2,"result":1}', 'not_json_rpc: "id" stands twice'],
    ['{"jsonrpc":"2.0","jsonrpc":"2.0","method":"x"}', 'not_json_rpc: "jsonrpc" stands twice'],
    ['{"jsonrpc":"2.0","method":"x","method":"y"}', 'not_json_rpc: "method" stands twice'],
    [
      '{"jsonrpc":"2.0","method":"x","params":{},"params":{}}',
      'not_json_rpc: "params" stands twice',
    ],
    ['{"jsonrpc":"2.0","id":1,"result":1,"result":2}', 'not_json_rpc: "result" stands twice'],
    ['{"jsonrpc":"2.0","id":1,"error":{},"error":{}}', 'not_json_rpc: "error" stands twice'],
    [
      '{"jsonrpc":"2.0","id":1,"method":"x","Method":"y"}',
      'not_json_rpc: "Method" is not "method", and some readers take it for that',
    ],
    [
      '{"jsonrpc":"2.0","id":1,"method":"x","params":{},"param\\u017f":{}}',
      'not_json_rpc: "param\u017f" is not "params", and some readers take it for that',
    ],
    [
      '{"jsonrpc":"2.0","method":"x","ID":1}',
      'not_json_rpc: "ID" is not "id", and some readers take it for that',
    ],
    [
      '{"jsonrpc":"2.0","id":1,"method":"x","result":1}',
      'not_json_rpc: both a request and an answer',
    ],
    [
      '{"jsonrpc":"2.0","id":1,"method":"x","error":{}}',
      'not_json_rpc: both a request and an answer',
    ],
    ['{"jsonrpc":"2.0","id":1,"method":5}', 'not_json_rpc: "method" must be a string'],
    [
      '{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}',
      'not_json_rpc: "params" must be an object',
    ],
    [
      '{"jsonrpc":"2.0","id":1,"method":"x","params":null}',
      'not_json_rpc: "params" must be an object',
    ],
    ['{"jsonrpc":"2.0","id":1}', 'not_json_rpc: neither a request, a notification nor an answer'],
    [
      '{"jsonrpc":"2.0","result":1}',
      'not_json_rpc: neither a request, a notification nor an answer',
    ],
    [
      '{"jsonrpc":"2.0","id":1,"result":1,"error":{}}',
      'not_json_rpc: neither a request, a notification nor an answer',
    ],
  ] as const)('%s', ([text, expected]) => assert.equal(brief(text), expected));

  test('with bytes that are not UTF-8, even inside a string', () => {
    for (const wrong of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0xaf]]) {
      const bytes = Buffer.concat([
        Buffer.from('{"jsonrpc":"2.0","id":1,"result":"'),
        Buffer.from(wrong),
        Buffer.from('"}'),
      ]);
      assert.deepEqual(readMessage(bytes), {
        kind: 'malformed',
        cause: 'not_json',
        detail: 'the bytes are not UTF-8',
      });
    }
  });

  test('with nesting beyond the limit, the envelope included', () => {
    const answer = (depth: number) =>
      brief(`{"jsonrpc":"2.0","id":1,"result":${'['.repeat(depth)}${']'.repeat(depth)}}`);
    assert.match(answer(maxDepth - 1), /^result 1 /);
    assert.equal(answer(maxDepth), 'not_json: the bytes are not JSON');
  });
});

test('a pretty-printed body is put on one line and otherwise unchanged', () => {
  const value = { jsonrpc: '2.0', id: 1, method: 'x', params: { text: 'a\nb\r\u2028' } };
  for (const lineBreak of ['\n', '\r\n', '\r']) {
    const text = JSON.stringify(value, null, 2).replaceAll('\n', lineBreak);
    const message = readMessage(Buffer.from(text));
    assert.ok(message.kind === 'request');
    assert.equal(message.bytes.toString(), text.replaceAll(/[\n\r]/g, ' '));
    assert.deepEqual(valueOf(message.bytes, message.params), value.params);
  }
});

test('a message is JSON exactly if JSON.parse accepts it, and has the same payload', () => {
  let answers = 0;
  for (let seed = 0; seed < 2000; seed++) {
    const random = createRandom(seed);
    const whole = Buffer.from(`{"jsonrpc":"2.0","id":7,"result":${randomJson(random)}}`);
    for (let mutation = 0; mutation < 10; mutation++) {
      const bytes = mutation === 0 ? whole : mutate(random, whole);
      const text = bytes.toString();
      const where = `seed ${seed}, mutation ${mutation}: ${JSON.stringify(text)}`;
      let expected: unknown;
      let isJson = isUtf8(bytes);
      try {
        expected = JSON.parse(text);
      } catch {
        isJson = false;
      }
      // A batch counts as JSON; `readMessages` handles batches.
      const message = readMessage(Buffer.from(bytes));
      assert.equal(message.kind !== 'malformed' || message.cause !== 'not_json', isJson, where);
      if (message.kind !== 'answer' || message.failed) continue;
      answers++;
      assert.ok(isObject(expected), where);
      assert.deepEqual(valueOf(message.bytes, message.payload), expected['result'], where);
      assert.ok(!/[\n\r]/.test(message.bytes.toString()), where);
    }
  }
  assert.ok(answers > 2000);
});

describe('readMessages', () => {
  const kinds = (text: string) => {
    const { batch, messages } = readMessages(Buffer.from(text));
    return {
      batch,
      kinds: messages.map(one => (one.kind === 'malformed' ? one.detail : one.kind)),
    };
  };
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  const note = '{"jsonrpc":"2.0","method":"n"}';
  const done = '{"jsonrpc":"2.0","id":1,"result":{}}';

  test.for([
    [ping, false, ['request']],
    ['nonsense', false, ['the bytes are not JSON']],
    [`[${ping}]`, true, ['request']],
    [`\n [ ${ping}\n,${note} , ${done} ] \r\n`, true, ['request', 'notification', 'answer']],
    ['[]', true, ['the batch is empty']],
    ['[ ]', true, ['the batch is empty']],
    [
      `[${ping},1,[${ping}],{}]`,
      true,
      [
        'request',
        'a message is a JSON object',
        'a message is a JSON object',
        '"jsonrpc" must be "2.0"',
      ],
    ],
    [`[${ping},`, true, ['the batch is not JSON']],
    [`[${ping}`, true, ['the batch is not JSON']],
    [`[${ping}] x`, true, ['the batch is not JSON']],
    ['[info] ready', true, ['the batch is not JSON']],
  ] as const)('%s', ([text, batch, expected]) => {
    assert.deepEqual(kinds(text), { batch, kinds: expected });
  });

  test('returns the bytes of each message, without line breaks', () => {
    const { messages } = readMessages(
      Buffer.from(`[\n${ping},\n{\n"jsonrpc":"2.0","method":"n"}]`),
    );
    const bytes = messages.map(one => (one.kind === 'malformed' ? '' : one.bytes.toString()));
    assert.deepEqual(bytes, [ping, '{ "jsonrpc":"2.0","method":"n"}']);
  });

  test('accepts a batch of a thousand and refuses a larger one', () => {
    const batch = (size: number) => `[${Array(size).fill(note).join(',')}]`;
    assert.equal(kinds(batch(1000)).kinds.length, 1000);
    assert.deepEqual(kinds(batch(1001)).kinds, ['the batch has more than 1000 messages']);
  });
});

const lookalike = createLookalikes(['params', 'taskId', '_meta', 'Name']);

test.each([
  ['Params', 'params'],
  ['PARAMS', 'params'],
  ['param\u017f', 'params'],
  ['tas\u212aid', 'taskId'],
  ['taskid', 'taskId'],
  ['_Meta', '_meta'],
  ['name', 'Name'],
  ['params', undefined],
  ['Name', undefined],
  ['param', undefined],
  ['params ', undefined],
  ['', undefined],
])('%j could be read as %j', (name, meant) => {
  assert.equal(lookalike(name), meant);
});
