import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError, type Json } from '#core';
import { readTomlText } from '../../hub/clients/toml-text.ts';

const read = (text: string) => readTomlText({ file: 'a.toml', text });
const put = (text: string, value: Json | undefined, ...path: readonly string[]) =>
  read(text).with(path, value);

describe('invalid TOML is refused with line and column, and without any text of the file:', () => {
  test.for([
    ['a = 1\nb = "planted', 'a.toml:2:'],
    ['[a]\nkey = planted\n', 'a.toml:2:'],
    ['a = 1\na = "planted"\n', 'a.toml:2:'],
  ] as const)('%j', ([text, place]) => {
    assert.throws(
      () => read(text),
      (error: unknown) => {
        assert.ok(error instanceof HubError && error.code === 'HUB_CONFIG_INVALID');
        assert.ok(error.message.startsWith(place), error.message);
        assert.match(error.message, /^a\.toml:\d+:\d+: not valid TOML: [^\n]+$/);
        assert.doesNotMatch(`${error.message} ${String(error.cause)}`, /planted/);
        return true;
      },
    );
  });
});

describe('a new table comes last', () => {
  test.for([
    ['', '[s.a]\nx = 1\n'],
    ['m = 1', 'm = 1\n\n[s.a]\nx = 1\n'],
    ['m = 1\n', 'm = 1\n\n[s.a]\nx = 1\n'],
    ['m = 1\r\n[t]\r\ny = 2', 'm = 1\r\n[t]\r\ny = 2\r\n\r\n[s.a]\r\nx = 1\r\n'],
    ['[s.b]\nx = 2\n', '[s.b]\nx = 2\n\n[s.a]\nx = 1\n'],
  ] as const)('in %j', ([text, expected]) => {
    assert.equal(put(text, { x: 1 }, 's', 'a'), expected);
  });
});

describe('the value at a path is replaced where its table is:', () => {
  const block = '[s.a]\nx = 1\n';
  test.for([
    ['[s.a]\ny = 2\nz = 3\n\n[t]\nm = 1\n', `${block}\n[t]\nm = 1\n`],
    ['[ s . "a" ] # why\ny = 2\n[t]\n', `${block}[t]\n`],
    ['[\'s\'."\\u0061"]\ny = 2\n', block],
    ['[s.a]\ny = 2\n[s.a.env]\nK = "v"\n[t]\n', `${block}[t]\n`],
    ['[s.a.env]\nK = "v"\n\n[t]\nm = 1\n\n[s.a]\ny = 2\n', `${block}\n[t]\nm = 1\n`],
    ['[s.ab]\ny = 2\n[s.a]\ny = 2\n[s]\nb.y = 2\n', `[s.ab]\ny = 2\n${block}[s]\nb.y = 2\n`],
  ] as const)('%j', ([text, expected]) => {
    assert.equal(put(text, { x: 1 }, 's', 'a'), expected);
  });

  test.for([
    ['s.a.y = 2\nm = 1\n', `m = 1\n\n${block}`],
    ['[s]\na = { y = 2 }\nb = 1\n', `[s]\nb = 1\n\n${block}`],
  ] as const)(
    '%j has dotted keys instead of a table, so they are removed and a table comes last',
    ([text, expected]) => {
      assert.equal(put(text, { x: 1 }, 's', 'a'), expected);
    },
  );
});

describe('an empty inline table on the way is replaced by the new table:', () => {
  test.for([
    ['s = {}\n', '[s.a]\nx = 1\n'],
    ['m = 1\ns = { } # none\n[t]\nn = 2\n', 'm = 1\n[t]\nn = 2\n\n[s.a]\nx = 1\n'],
    ['"s" = {}\r\nm = 1\r\n', 'm = 1\r\n\r\n[s.a]\r\nx = 1\r\n'],
  ] as const)('%j', ([text, expected]) => {
    assert.equal(put(text, { x: 1 }, 's', 'a'), expected);
  });

  test('but stays if nothing is written', () => {
    assert.equal(put('s = {}\n', undefined, 's', 'a'), 's = {}\n');
  });

  test('but stays if it has content', () => {
    assert.match(put('s = { b = 1 }\n', { x: 1 }, 's', 'a') ?? '', /^s = \{ b = 1 \}\n/);
  });
});

describe('characters that do not end a value are skipped:', () => {
  test.for([
    'a = """\n[s.a]\n\\""" # no\n"""',
    'a = """x"""""',
    "a = '''\n[s.a]\n'''",
    'a = "# [s.a] \\" ["',
    "a = 'C:\\'",
    'a = [\n  { b = "]" }, # ]\n  [\n  ],\n]',
    'a = { b = [\n1\n] } # }',
    'a = 1979-05-27 07:32:00 # [',
    '"a = 1\\n".b = 2',
  ])('%j', value => {
    const text = `${value}\n[s.a]\nx = 1\n\n[t]\nm = 1\n`;
    assert.equal(put(text, undefined, 's', 'a'), `${value}\n\n[t]\nm = 1\n`);
  });
});

describe('a removed table', () => {
  test.for([
    ['m = 1\n\n[s.a]\nx = 1\n', 'm = 1\n'],
    ['m = 1\r\n\r\n[s.a]\r\nx = 1\r\n', 'm = 1\r\n'],
    ['[t]\nm = 1\n\n[s.a]\nx = 1\n\n[u]\nn = 1\n', '[t]\nm = 1\n\n[u]\nn = 1\n'],
    ['# of a\n[s.a]\nx = 1\n', '# of a\n'],
    ['[s.a]\nx = 1', ''],
    ['[[s.a]]\nx = 1\n[[s.a]]\nx = 2\n[t]\n', '[t]\n'],
  ] as const)('leaves no blank line in %j', ([text, expected]) => {
    assert.equal(put(text, undefined, 's', 'a'), expected);
  });

  test('that does not exist changes nothing', () => {
    const text = '\n\n# none\n[t]\nm = 1\n\n';
    assert.equal(put(text, undefined, 's', 'a'), text);
  });
});

test('whole numbers beyond 2^53 are read exactly', () => {
  assert.deepEqual(
    { ...Object(read('a = 9007199254740993\nb = 1\n').value) },
    {
      a: 9007199254740993n,
      b: 1,
    },
  );
});
