import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { argumentsOf, arePairs, parseObject } from '../../hub/cli/tool-arguments.ts';

const tool = {
  name: 'search',
  inputSchema: {
    properties: {
      text: { type: 'string' },
      limit: { type: 'integer' },
      exact: { type: 'boolean' },
      tags: { type: 'array', items: { type: 'string' } },
      range: { anyOf: [{ type: 'object' }, { type: 'null' }] },
      order: { enum: ['asc', 'desc'] },
      anything: {},
    },
    required: ['text'],
  },
};

test.each([
  [[], true],
  [['text=hello'], true],
  [['{"text": 1}'], false],
  [['  {'], false],
  [['-'], false],
])('%j are pairs: %s', (words, expected) => assert.equal(arePairs(words), expected));

test('JSON must be an object', () => {
  assert.deepEqual(parseObject('{"a": 1}', 'arguments'), { a: 1 });
  for (const text of ['[1]', '1', 'null', '{"a"'])
    assert.throws(() => parseObject(text, 'arguments'), {
      code: 'HUB_USAGE',
      message: /^arguments: .*write|^arguments: it is not JSON/i,
    });
});

test('whole numbers arrive as they were written, however large', () => {
  const big = '9007199254740993';
  assert.equal(
    JSON.stringify(parseObject(`{"id":${big},"ids":[-${big}0],"n":3}`, 'arguments')),
    `{"id":${big},"ids":[-${big}0],"n":3}`,
  );
  assert.equal(
    JSON.stringify(argumentsOf(tool, ['text=', `limit=${big}`, `anything=[${big},1.5]`])),
    `{"text":"","limit":${big},"anything":[${big},1.5]}`,
  );
  assert.throws(() => parseObject(big, 'arguments'), { code: 'HUB_USAGE' });
});

describe('pairs', () => {
  test('have the types of the schema', () => {
    const words = ['text=3', 'limit=3', 'exact=true', 'range=null', 'order=asc', 'anything=[1]'];
    assert.deepEqual(argumentsOf(tool, words), {
      text: '3',
      limit: 3,
      exact: true,
      range: null,
      order: 'asc',
      anything: [1],
    });
  });

  test('keep quotes and equals signs of a text', () => {
    assert.deepEqual(argumentsOf(tool, ['text="a=b"']), { text: '"a=b"' });
  });

  test('become a list by a repeated key, a single one, or JSON', () => {
    assert.deepEqual(argumentsOf(tool, ['text=', 'tags=a', 'tags=b']), {
      text: '',
      tags: ['a', 'b'],
    });
    assert.deepEqual(argumentsOf(tool, ['text=', 'tags=a']), { text: '', tags: ['a'] });
    assert.deepEqual(argumentsOf(tool, ['text=', 'tags=["a","b"]']), {
      text: '',
      tags: ['a', 'b'],
    });
  });

  test('may have other keys where the schema allows them', () => {
    const open = { name: 'open', inputSchema: { additionalProperties: true } };
    assert.deepEqual(argumentsOf(open, ['n=1', 'word=hello']), { n: 1, word: 'hello' });
  });

  test.each([
    [['text'], /"text" is not an argument: write key=value, such as text=hello/],
    [['=a'], /"=a" is not an argument/],
    [['txet=a'], /search takes no "txet"\. Did you mean "text"\? It takes: text \(string\), limit/],
    [['limit=3'], /search needs text \(string\)\. Write text=\.\.\., or a JSON object/],
    [['text=a', 'limit=few'], /limit: "few" is not allowed: write a whole number/],
    [['text=a', 'exact=1'], /exact: "1" is not allowed: write true or false/],
    [['text=a', 'text=b'], /text is not a list, but is given 2 times: write it once/],
  ])('%j are refused', (words, message) => {
    assert.throws(() => argumentsOf(tool, words), { code: 'HUB_USAGE', message });
  });
});
