import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { canonicalOf, tokensOf } from '../../hub/enhance/canonical.ts';

const textsOf = (text: string, isEnglish = true) =>
  tokensOf(text, isEnglish).map(token => `${token.kind} ${token.text}`);

describe('a token is', () => {
  test.for([
    ['`a b` "q" \'it is\'', ['quote `a b`', 'quote "q"', "quote 'it is'"]],
    ["it's", ["word it's"]],
    ['src/a.ts: C:\\a\\b.', ['path src/a.ts', 'path C:\\a\\b']],
    ['see https://x.y/z?a=1', ['word see', 'path https://x.y/z?a=1']],
    ['--flag -v', ['path --flag', 'path -v']],
    ['.env a.b.c', ['identifier .env', 'identifier a.b.c']],
    [
      'foo() _x getUser x_1',
      ['identifier foo()', 'identifier _x', 'identifier getUser', 'identifier x_1'],
    ],
    ['JS and Postgres', ['name javascript', 'word and', 'name postgres']],
    ['C++ C#', ['name c++', 'name c#']],
    ['React react', ['identifier React', 'identifier react']],
    ['NodeJS and node.js', ['identifier NodeJS', 'word and', 'identifier node.js']],
    ['v1.2.3-rc.1 12:30', ['number v1.2.3-rc.1', 'number 12:30']],
    ['three Twelve one', ['number 3', 'number 12', 'word one']],
    ['$5,000 5%', ['number $5000', 'number 5pct']],
    ['10 seconds 10s', ['number 10s', 'number 10s']],
    ['two min', ['number 2min']],
    ['10ms ms', ['number 10ms', 'word ms']],
    ['5foo_', ['sign 5', 'identifier foo_']],
    ['!= && !ok [x]', ['sign !=', 'sign &&', 'sign !', 'word ok', 'sign [', 'word x', 'sign ]']],
    ['😀 ≤ ¿qué?', ['sign 😀', 'sign ≤', 'stop ¿', 'word qué', 'stop ?']],
    ['', []],
  ] as const)('found in %j', ([text, expected]) => assert.deepEqual(textsOf(text), expected));

  test.for([
    ['10,000', true, 'number 10000'],
    ['10,00', true, 'number 10,00'],
    ['1,000,000km', true, 'number 1000000km'],
    ['10,000', false, 'number 10,000'],
  ] as const)('the number %s, in English: %s', ([text, isEnglish, expected]) =>
    assert.deepEqual(textsOf(text, isEnglish), [expected]),
  );
});

const sequenceOf = (text: string) => canonicalOf(text).sequence.join(' ').replaceAll('word ', '');

describe('the sequence', () => {
  test.for([
    ['Explain it. List files', 'explain it . list files'],
    ['List is empty', 'List is empty'],
    ['IT is slow; A is b', 'IT is slow A is b'],
    ["Don't. It's so, I'm sure", 'do not . it is so I am sure'],
    ["I can't, so wait", 'I can not , so wait'],
    ["wouldn't've", 'would not have'],
    ["I'd like that but I'd gone", "I would like that but I'd gone"],
    ['must i use i', 'must I use i'],
    ['You can use it?', 'you can use it ?'],
    ['how do I use it?!', 'how do I use it'],
    ['It works. Is it fast? And small', 'it works . is it fast . and small'],
    ['No, use tabs', 'no , use tabs'],
    ['yes, use tabs', 'yes use tabs'],
    ['fix it - now', 'fix it now'],
    ['x - y', 'x sign - y'],
    ['...', ''],
    ['Explain this: A  b', 'explain this payload A b'],
  ] as const)('of %j is %j', ([text, expected]) => assert.equal(sequenceOf(text), expected));
});

test('a request is split into clauses at its punctuation, and the text after it is not', () => {
  const { head, clauses, payload, payloadText, language } = canonicalOf(
    'If it fails, explain why: ok, then',
  );
  assert.deepEqual(
    clauses.map(clause => clause.map(({ text }) => text).join(' ')),
    ['if it fails', 'explain why'],
  );
  assert.equal(head.map(({ text }) => text).join(' '), 'if it fails explain why');
  assert.equal(payload.map(({ text }) => text).join(' '), 'ok then');
  assert.deepEqual([payloadText, language], ['ok, then', 'en']);
});

test('commas separate thousands in a request without a language, and not in a German one', () => {
  assert.equal(sequenceOf('10,000'), 'number 10000');
  assert.equal(sequenceOf('Setze den Wert auf 10,000'), 'Setze den Wert auf number 10,000');
});
