import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import {
  type ClientFormat,
  isBlank,
  valueAt,
  valueOf,
  withValue,
} from '../../../hub/clients/client/text.ts';

const sourceOf = (text: string | undefined, format: ClientFormat = 'json') => ({
  file: `a.${format}`,
  text,
  format,
});

test.for([undefined, '', ' \n', '\uFEFF', '\uFEFF\n'])('%j is blank, and is {}', async text => {
  assert.equal(isBlank(sourceOf(text)), true);
  assert.deepEqual(await valueOf(sourceOf(text)), {});
});

describe('the value at a path', () => {
  const source = sourceOf('');
  const value = { a: { b: { c: 1 } }, list: [1], text: 'x' };

  test.for([
    [['a', 'b'], { c: 1 }],
    [['a', 'none', 'c'], undefined],
    [['toString'], undefined],
    [['a', '__proto__'], undefined],
    [[], value],
  ] as const)('%j', ([path, expected]) => {
    assert.deepEqual(valueAt(source, value, path), expected);
  });

  test.for([
    [value, ['list', '0'], /^a\.json: "list" is not an object\. Make it \{\}, or remove it$/],
    [value, ['a', 'b', 'c', 'd'], /^a\.json: "a\.b\.c" is not an object/],
    [[], ['a'], /^a\.json: the document is not an object/],
    [null, ['a'], /^a\.json: the document is not an object/],
  ] as const)('of %j at the path %j is refused', ([from, path, message]) => {
    assert.throws(() => valueAt(source, from, path), { code: 'HUB_CONFIG_INVALID', message });
  });
});

test.for(['[[s]]\nx = 1\n', 's = []\n', 's = "x"\n'])(
  'of %j in TOML is refused with the form that TOML needs',
  async text => {
    await assert.rejects(withValue(sourceOf(text, 'toml'), ['s', 'a'], { x: 1 }), {
      code: 'HUB_CONFIG_INVALID',
      message:
        'a.toml: "s" is not a table. Write each of its entries as a table of its own, [s.NAME], or remove "s"',
    });
  },
);

describe('setting a value', () => {
  test.for([
    [undefined, 'json', '{\n  "s": {\n    "a": {\n      "x": 1\n    }\n  }\n}\n'],
    ['\uFEFF', 'json', '{\n  "s": {\n    "a": {\n      "x": 1\n    }\n  }\n}\n'],
    [undefined, 'toml', '[s.a]\nx = 1\n'],
    ['\uFEFF{"s": {}} // x', 'json', '\uFEFF{"s": {\n  "a": {\n    "x": 1\n  }\n}} // x'],
    ['\uFEFFm = 1\n', 'toml', '\uFEFFm = 1\n\n[s.a]\nx = 1\n'],
  ] as const)('in %j (%s) leaves the rest as it is', async ([text, format, expected]) => {
    assert.equal(await withValue(sourceOf(text, format), ['s', 'a'], { x: 1 }), expected);
  });

  test.for([
    ['{"s": {"a": 1, "a": 2}}', 'json', undefined, 'Edit it by hand'],
    [
      's = { a = { x = 0 }, b = 1 }\n',
      'toml',
      { x: 1 },
      'Write each server there as a table of its own, [s.NAME], and repeat this',
    ],
  ] as const)(
    'in %j (%s) is refused if it would change another value',
    async ([text, format, value, remedy]) => {
      await assert.rejects(withValue(sourceOf(text, format), ['s', 'a'], value), {
        code: 'HUB_CONFIG_CONFLICT',
        message: `a.${format}: s.a is written in a way (twice, or in one line with others) that cannot be changed without the rest. ${remedy}`,
      });
    },
  );
});

describe('removing a value', () => {
  test.for([
    [undefined, 'json', ''],
    [' \n', 'json', ' \n'],
    ['{"s": {"a": 1}}', 'json', '{"s": {}}'],
    ['{"t": 1}', 'json', '{"t": 1}'],
    ['[s.a]\nx = 1\n', 'toml', ''],
    ['m = 1\n', 'toml', 'm = 1\n'],
  ] as const)('from %j (%s) leaves the rest as it is', async ([text, format, expected]) => {
    assert.equal(await withValue(sourceOf(text, format), ['s', 'a'], undefined), expected);
  });
});
