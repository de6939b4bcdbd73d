import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { z } from 'zod';
import { HubError } from '#core';
import {
  type LocatedProblem,
  type Problem,
  invalidFile,
  pathText,
  problemsOf,
} from '../../hub/config/problem.ts';
import { configKeys } from '../../hub/config/schema.ts';
import type { Path } from '../../hub/config/source-map.ts';

const source = { file: 'a.json', text: 'first\nsecond\nthird' };
const problem = (offset: number, text: string, more: Partial<LocatedProblem> = {}) => ({
  location: { source, offset, path: [] },
  text,
  ...more,
});

test.for([
  [[], ''],
  [['servers', 'memory', 'args', 0], 'servers.memory.args[0]'],
  [['servers', 'my server'], 'servers["my server"]'],
  [['servers', 'a"b', 'x-y', '$z'], 'servers["a\\"b"].x-y.$z'],
  [[0, 'a'], '[0].a'],
] as const)('the path %j is written %s', ([path, expected]) => {
  assert.equal(pathText(path), expected);
});

describe('the error for an invalid file', () => {
  test('lists problems once, in the order of the file', () => {
    const error = invalidFile([
      problem(13, 'late'),
      problem(2, 'column'),
      problem(0, 'early'),
      problem(13, 'late'),
    ]);
    assert.ok(error instanceof HubError);
    assert.equal(error.message, 'a.json:1:1: early\na.json:1:3: column\na.json:3:1: late');
  });

  test('groups problems by file, in the order of the files', () => {
    const base = { source: { file: 'base.json', text: '' }, offset: 0, path: [] };
    const error = invalidFile([
      problem(6, 'one'),
      problem(0, 'base', { location: base }),
      problem(0, 'two'),
    ]);
    assert.equal(error.message, 'a.json:1:1: two\na.json:2:1: one\nbase.json:1:1: base');
  });
});

test('long keys are shortened', () => {
  const path = ['servers', 'one', 'env', 'x'.repeat(100_000)];
  const long = invalidFile([problem(0, 'wrong', { location: { source, offset: 0, path } })]);
  const place = `servers.one.env["${'x'.repeat(60)}..."]`;
  const message = `a.json:1:1: ${place}: wrong`;
  assert.equal(long.message, message);
  assert.deepEqual(long.data['problems'], [{ path: place, message }]);
});

describe('an invalid value in the message', () => {
  const shown = (value: unknown, ...path: Path) =>
    invalidFile([
      problem(0, 'write x', { location: { source, offset: 0, path }, shown: { value } }),
    ])
      .message.replace(/^a\.json:1:1: \S+: /, '')
      .replace(/ is not allowed: write x$/, '');
  const inEntry = (key: string, value: unknown) => shown(value, 'servers', 'one', key);

  test.for([
    [null, 'null'],
    [[1], 'a list'],
    [{}, 'an object'],
    [-1, '-1'],
    [true, 'true'],
    ['a "b"', '"a \\"b\\""'],
    ['x'.repeat(100), `"${'x'.repeat(59)}…"`],
  ] as const)('%j is %s', ([value, expected]) => {
    assert.equal(inEntry('image', value), expected);
  });

  test('that is absent is reported as missing', () => {
    assert.equal(inEntry('image', undefined), 'is missing: write x');
  });

  test.for(['env', 'headers'])('is shown as its type only in "%s"', key => {
    assert.equal(shown('s3cret', 'servers', 'one', key, 'KEY'), 'a string (not shown)');
    assert.equal(inEntry(key, ['s3cret']), 'a list (not shown)');
  });

  test.for([
    [['token']],
    [['clients', 'editor', 'token']],
    [['servers', 'one', 'oauth', 'client_secret']],
    [['models', 'providers', 'one', 'key']],
    [['documentation', 'obsidian', 'key']],
  ] as const)('is shown as its type only at %j', ([path]) => {
    assert.equal(shown(8_437_583_475, ...path), 'a number (not shown)');
  });

  test.for([
    ['ftp://user:s3cret@host/x', '"ftp://…@host/x"'],
    ['ftp://user:s3cret@half@host/x', '"ftp://…@host/x"'],
    ['ftp://user:s3cret/half@host/x', '"ftp://…@host/x"'],
    ['user:s3cret@host/x', '"…@host/x"'],
    ['htp:/user:s3cret@host', '"…@host"'],
    ['ftp://host/x?key=s3cret', '"ftp://host/x?…"'],
    ['ftp://host/x#s3cret', '"ftp://host/x?…"'],
    ['ftp://host/x?mail=a@s3cret', '"ftp://host/x?…"'],
    ['host:80/x', '"host:80/x"'],
  ] as const)('is shown without credentials: %s', ([url, expected]) => {
    assert.equal(inEntry('url', url), expected);
  });
});

describe('problems of a value that does not fit its schema', () => {
  const schema = z.strictObject({
    text: z.string().min(1),
    count: z.int().min(1).max(9),
    ratio: z.number('write a number such as 0.5').max(1, 'write at most the whole'),
    choice: z.enum(['a', 'b']),
    list: z.array(z.string()).max(2),
    filled: z.array(z.string()).min(1),
    short: z.string().max(3),
    either: z.union([z.string(), z.strictObject({ name: z.string() })], 'write a name'),
    named: z.record(z.string().regex(/^[a-z]+$/, 'write small letters'), z.boolean()),
  });
  const valid = {
    text: 'x',
    count: 1,
    ratio: 1,
    choice: 'a',
    list: [],
    filled: ['x'],
    short: 'x',
    either: 'x',
    named: {},
  };
  const problemsIn = (value: unknown): readonly Problem[] =>
    problemsOf(schema.safeParse(value).error?.issues ?? [], ['base'], {
      keysAt: () => ['text', 'count'],
      command: 'agenthub schema',
    });

  test.for([
    [{ text: 1 }, 'base.text', 'write a string, in quotes', true],
    [{ text: undefined }, 'base.text', 'is missing: write a string, in quotes', false],
    [{ text: '' }, 'base.text', 'write at least one character', true],
    [{ count: 1.5 }, 'base.count', 'write a whole number, without quotes', true],
    [{ count: 0 }, 'base.count', 'write a number of at least 1', true],
    [{ count: 10 }, 'base.count', 'write a number of at most 9', true],
    [{ ratio: '1' }, 'base.ratio', 'write a number such as 0.5', true],
    [{ ratio: 2 }, 'base.ratio', 'write at most the whole', true],
    [{ choice: 'c' }, 'base.choice', 'write "a" or "b"', true],
    [{ list: [1] }, 'base.list[0]', 'write a string, in quotes', true],
    [{ list: {} }, 'base.list', 'write a list: [...]', true],
    [{ list: ['a', 'b', 'c'] }, 'base.list', 'write at most 2 entries', true],
    [{ filled: [] }, 'base.filled', 'write at least one entry', true],
    [{ short: 'long' }, 'base.short', 'write at most 3 characters', true],
    [{ named: [] }, 'base.named', 'write an object: {...}', true],
    [{ named: { A: true } }, 'base.named.A', 'write small letters', false],
    [{ named: { a: 1 } }, 'base.named.a', 'write true or false', true],
    [{ either: 1 }, 'base.either', 'write a name', true],
    [
      { either: { nam: 'x', name: 'x' } },
      'base.either.nam',
      'unknown key. Remove it; allowed keys are text, count',
      false,
    ],
    [{ either: { name: 1 } }, 'base.either.name', 'write a string, in quotes', true],
    [{ txt: 1 }, 'base.txt', 'unknown key. Did you mean "text"?', false],
    [{ zzzzzz: 1 }, 'base.zzzzzz', 'unknown key. Remove it; allowed keys are text, count', false],
  ] as const)('%j', ([change, path, text, showsValue]) => {
    const [found, ...others] = problemsIn({ ...valid, ...change });
    assert.ok(found);
    assert.deepEqual(others, []);
    assert.deepEqual(
      [pathText(found.path), found.text, found.showsValue === true],
      [path, text, showsValue],
    );
  });

  test('an unknown key that is known in a sibling object is reported with that path', () => {
    const textOf = (key: string) => {
      const { issues } = z.strictObject({}).safeParse({ [key]: 1 }).error ?? {};
      return problemsOf(issues ?? [], key === 'port' ? [] : ['servers', 'one'], configKeys).map(
        ({ text }) => text,
      );
    };
    assert.deepEqual(textOf('memory'), ['unknown key here. Did you mean "resources.memory"?']);
    assert.deepEqual(textOf('port'), ['unknown key here. Did you mean "listen.port"?']);
    assert.deepEqual(textOf('allow'), [
      'unknown key here. Did you mean "tools.allow" or "network.allow"?',
    ]);
  });

  test('two unknown keys are two problems', () => {
    assert.deepEqual(
      problemsIn({ ...valid, one: 1, two: 2 }).map(({ path }) => pathText(path)),
      ['base.one', 'base.two'],
    );
  });
});
