import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createSecretExtractor } from '../../hub/clients/extract-secrets.ts';

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
])('a value that looks secret becomes one under any name: %s %s', (name, value) => {
  assert.match(open().extract(name, value), /^\$\{\w+\}$/);
});

test.each([
  ['API_TOKEN', ''],
  ['LEVEL', 'debug'],
  ['URL', 'https://example.com/path'],
])('%s %j stays as it is', (name, value) => {
  const { extractor, extract } = open();
  assert.equal(extract(name, value), value);
  assert.deepEqual(extractor.variables, []);
});

test('equal secrets share a variable, and another value under its name gets another', () => {
  const { extractor, extract } = open();
  const first = extract('API_TOKEN', 'hunter2');
  assert.equal(extract('API_TOKEN', 'hunter2'), first);
  const second = extract('API_TOKEN', 'hunter3');
  assert.notEqual(second, first);
  assert.equal(extractor.variables.length, 2);
  assert.equal(extractor.names.size, 2);
});

test('a variable that is set already is used for the same value only', () => {
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
