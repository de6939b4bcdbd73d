import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { tokensOf } from '../../hub/enhance/tokens.ts';

const textsOf = (text: string, isEnglish = true) =>
  tokensOf(text, isEnglish).map(token => `${token.kind} ${token.text}`);

describe('tokens are', () => {
  test.for([
    ['`a b` "q" \'it is\'', ['quote `a b`', 'quote "q"', "quote 'it is'"]],
    ["it's", ["word it's"]],
    ["fix 'let's eat, Ann'", ['word fix', "quote 'let's eat, Ann'"]],
    ["let's fix 'it'", ["word let's", 'word fix', "quote 'it'"]],
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
    ['$5,000 5%', ['number 5000usd', 'number 5pct']],
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
