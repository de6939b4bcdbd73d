import assert from 'node:assert/strict';
import { test } from 'vitest';
import { asJson, numberOf, placeOf, textOf, textsOf, wordOf } from '../../hub/cli/values.ts';

test('a string, a list and a word are read, and a value of another type is ignored or an error', () => {
  assert.equal(textOf({ url: 'http://localhost' }, 'url'), 'http://localhost');
  assert.equal(textOf({ url: true }, 'url'), undefined);
  assert.deepEqual(textsOf({ env: ['A=1', 'B=2'] }, 'env'), ['A=1', 'B=2']);
  assert.deepEqual(textsOf({}, 'env'), []);
  assert.equal(wordOf({ server: 'memory' }, 'server'), 'memory');
  assert.throws(() => wordOf({}, 'server'), TypeError);
});

test.each([
  ['1', 1],
  ['100', 100],
  [undefined, undefined],
])('%s is accepted as a number from 1 to 100', (text, expected) => {
  assert.equal(numberOf({ tail: text }, 'tail', { least: 1, most: 100 }), expected);
});

test.each(['0', '101', '-1', '1.5', '1e1', 'ten', '', ' 5'])(
  '%j is refused as a number from 1 to 100',
  text => {
    assert.throws(() => numberOf({ tail: text }, 'tail', { least: 1, most: 100 }), {
      code: 'HUB_USAGE',
      message: `--tail: ${JSON.stringify(text)} is not allowed: write a number from 1 to 100`,
    });
  },
);

test('JSON for scripts is indented', () => {
  assert.equal(asJson({ a: [1] }), '{\n  "a": [\n    1\n  ]\n}');
});

test('a server and a profile are mutually exclusive', () => {
  assert.equal(placeOf({}), undefined);
  assert.equal(placeOf({ server: 'memory' }), 'memory');
  assert.equal(placeOf({ profile: 'work' }), '@work');
  assert.throws(() => placeOf({ server: 'memory', profile: 'work' }), /--profile: .* --server/);
});
