import assert from 'node:assert/strict';
import { parseEnv } from 'node:util';
import { test } from 'vitest';
import { createSecretExtractor, valuesOf, withVariables } from '../../hub/clients/secrets.ts';

function open(taken: Readonly<Record<string, string>> = {}) {
  const extractor = createSecretExtractor('github', name => taken[name]);
  return {
    extractor,
    extract: (name: string, value: string) => extractor.extract(name, value, value),
  };
}

test('a value under the name of a secret becomes a variable of the server', () => {
  const { extractor, extract } = open();
  const text = extract('API_TOKEN', 'hunter2');
  const [variable] = extractor.variables;
  assert.deepEqual(extractor.variables, [{ name: variable?.name, value: 'hunter2' }]);
  assert.equal(variable?.name, 'MCP_GITHUB_API_TOKEN');
  assert.equal(text, `\${${variable?.name}}`);
});

test.each([
  ['SETTING', 'ghp_0123456789abcdefghij'],
  ['URL', 'https://ada@example.com/'],
  ['URL', 'https://example.com/?key=1'],
  ['URL', 'https://example.com/s/0123456789abcdefghij'],
])('a value that looks secret becomes a variable under any name: %s %s', (name, value) => {
  assert.match(open().extract(name, value), /^\$\{\w+\}$/);
});

test.each([
  ['API_TOKEN', ''],
  ['LEVEL', 'debug'],
  ['URL', 'https://example.com/path'],
])('%s %j is unchanged', (name, value) => {
  const { extractor, extract } = open();
  assert.equal(extract(name, value), value);
  assert.deepEqual(extractor.variables, []);
});

test('equal secrets share a variable, and another value of the same name gets another', () => {
  const { extractor, extract } = open();
  const first = extract('API_TOKEN', 'hunter2');
  assert.equal(extract('API_TOKEN', 'hunter2'), first);
  const second = extract('API_TOKEN', 'hunter3');
  assert.notEqual(second, first);
  assert.equal(extractor.variables.length, 2);
  assert.equal(extractor.names.size, 2);
});

test('a variable that is already set is used for the same value only', () => {
  const name = /\w+/.exec(open().extract('API_TOKEN', 'x').slice(2))?.[0] ?? '';
  const same = open({ [name]: 'hunter2' });
  assert.equal(same.extract('API_TOKEN', 'hunter2'), `\${${name}}`);
  assert.deepEqual(same.extractor.variables, []);
  assert.deepEqual([...same.extractor.names], [name]);
  const other = open({ [name]: 'of another' });
  assert.equal(other.extract('API_TOKEN', 'hunter2'), `\${${name}_2}`);
  const empty = open({ [name]: '' });
  assert.equal(empty.extract('API_TOKEN', 'hunter2'), `\${${name}}`);
});

const one = (value: string) => [{ name: 'B', value }];

test.each([
  ['', 'B=x\n'],
  ['A=1\n', 'A=1\nB=x\n'],
  ['A=1', 'A=1\nB=x\n'],
  ['A=1\r\n', 'A=1\r\nB=x\r\n'],
])('a variable is appended to the .env text %j', (text, expected) => {
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

test('a value with every kind of quote cannot be written', () => {
  assert.equal(withVariables('', one('\'"` ')), undefined);
});

test('nothing is written where an existing value would read differently', () => {
  assert.equal(withVariables('A="open', one('"')), undefined);
});

test('a list of variables is converted to an object', () => {
  assert.deepEqual(valuesOf([{ name: 'A', value: '1' }, ...one('2')]), { A: '1', B: '2' });
});
