import assert from 'node:assert/strict';
import { parseEnv } from 'node:util';
import { test } from 'vitest';
import { valuesOf, withVariables } from '../../hub/clients/dotenv.ts';

const one = (value: string) => [{ name: 'B', value }];

test.each([
  ['', 'B=x\n'],
  ['A=1\n', 'A=1\nB=x\n'],
  ['A=1', 'A=1\nB=x\n'],
  ['A=1\r\n', 'A=1\r\nB=x\r\n'],
])('a variable is appended to %j', (text, expected) => {
  assert.equal(withVariables(text, one('x')), expected);
});

test.each(['two words', 'a#b', "it's", 'say "hi"', `'"`, 'two\nlines', '$HOME', '', ' padded '])(
  'the value %j reads back the same',
  value => {
    const after = withVariables('A=1\n', one(value));
    assert.ok(after !== undefined);
    assert.deepEqual({ ...parseEnv(after) }, { A: '1', B: value });
  },
);

test('a value that has every kind of quote cannot be written', () => {
  assert.equal(withVariables('', one('\'"` ')), undefined);
});

test('nothing is written where an existing value would read differently', () => {
  assert.equal(withVariables('A="open', one('"')), undefined);
});

test('variables are values by their names', () => {
  assert.deepEqual(valuesOf([{ name: 'A', value: '1' }, ...one('2')]), { A: '1', B: '2' });
});
