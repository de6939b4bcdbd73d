import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { withNameList } from '../../../hub/config/edit/name-list.ts';

type Edit = { readonly names: readonly string[]; readonly isInherited?: boolean };

/** Returns the text with other names in `tools.deny` of the server `a`. */
async function edited(file: 'json' | 'yaml', text: string, { names, isInherited = false }: Edit) {
  const list = { server: 'a', key: 'deny', names, isInherited } as const;
  return await withNameList(text, file, list);
}

const json = `{
  "servers": {
    // ours
    "a": { "image": "a:1" }, // a tail
    "b": {
      "image": "b:1",
      "tools": { "deny": ["x"] }
    }
  }
}
`;

const listed = `{
  "servers": {
    "a": {
      "image": "a:1",
      "tools": {
        // what we hide
        "deny": [
          "one", // the first
          "two" // the last
        ]
      }
    }
  }
}
`;

const yaml = `servers:
  a:
    image: a:1 # ours
    tools:
      rename: { x: y }
      deny:
        # what we hide
        - one # the first
        - two
  b: {image: "b:1"}
`;

describe('names that are added', () => {
  test.for([
    [
      'json',
      json,
      ['w'],
      json.replace(
        '"a": { "image": "a:1" }',
        '"a": { "image": "a:1", "tools": { "deny": ["w"] } }',
      ),
    ],
    [
      'json',
      listed,
      ['one', 'two', 'w"x'],
      listed.replace('"two" // the last', '"two", // the last\n          "w\\"x"'),
    ],
    ['yaml', yaml, ['one', 'two', '*x: #'], yaml.replace('- two\n', '- two\n        - "*x: #"\n')],
    [
      'yaml',
      'servers:\n  a:\n    image: a:1\n',
      ['w'],
      'servers:\n  a:\n    image: a:1\n    tools:\n      deny:\n        - w\n',
    ],
    [
      'yaml',
      'servers:\n  a:\n    image: a:1\n    tools: {}\n',
      ['w'],
      'servers:\n  a:\n    image: a:1\n    tools:\n      deny:\n        - w\n',
    ],
    [
      'yaml',
      'servers: {a: {image: "a:1", tools: {deny: [x]}}}',
      ['x', 'w'],
      'servers: {a: {image: "a:1", tools: {deny: [x, "w"]}}}',
    ],
    [
      'json',
      '{"extends": "base.json"}',
      ['w'],
      '{"extends": "base.json", "servers": { "a": { "tools": { "deny": ["w"] } } }}',
    ],
  ] as const)('%#: %s', async ([format, text, names, expected]) => {
    for (const form of [text, text.replaceAll('\n', '\r\n'), `\uFEFF${text}`]) {
      const made = await edited(format, form, { names });
      const lines = form.includes('\r') ? expected.replaceAll('\n', '\r\n') : expected;
      assert.equal(made, form.startsWith('\uFEFF') ? `\uFEFF${lines}` : lines);
    }
  });

  test('a file that inherits the server gets an entry with the list only', async () => {
    const made = await edited('json', '{"extends": "base.json", "servers": {}}', { names: ['w'] });
    assert.deepEqual(JSON.parse(made ?? ''), {
      extends: 'base.json',
      servers: { a: { tools: { deny: ['w'] } } },
    });
  });
});

describe('names that are removed', () => {
  test.for([
    ['json', listed, ['two'], listed.replace('          "one", // the first\n', '')],
    ['yaml', yaml, ['two'], yaml.replace('        - one # the first\n', '')],
    ['yaml', yaml, ['one'], yaml.replace('        - two\n', '')],
    [
      'json',
      '{"servers": {"a": {"image": "a:1", "tools": {"deny": ["x", "y"]}}}}',
      ['x'],
      '{"servers": {"a": {"image": "a:1", "tools": {"deny": ["x"]}}}}',
    ],
  ] as const)('%#: %s', async ([format, text, names, expected]) => {
    assert.equal(await edited(format, text, { names }), expected);
  });

  test.for([
    ['json', json],
    ['json', '{"servers": {"a": {"image": "a:1"}}}'],
    ['yaml', 'servers:\n  a:\n    image: a:1\n  b: {image: "b:1"}\n'],
    ['yaml', 'servers: {a: {image: "a:1"}} # all'],
  ] as const)('adding and removing a name restores the text: %#', async ([f, text]) => {
    for (const form of [text, text.replaceAll('\n', '\r\n')]) {
      const added = await edited(f, form, { names: ['w', 'x'] });
      assert.ok(added !== undefined && added !== form);
      assert.equal(await edited(f, added, { names: [] }), form);
    }
  });

  test('an empty list stays where it overrides an inherited one', async () => {
    const text = '{"servers": {"a": {"tools": {"deny": ["x"]}}}}';
    const made = await edited('json', text, { names: [], isInherited: true });
    assert.deepEqual(JSON.parse(made ?? ''), { servers: { a: { tools: { deny: [] } } } });
  });
});

test('lists and objects that are aliases are not edited', async () => {
  const list = 'x: &x [one]\nservers:\n  a:\n    image: a:1\n    tools:\n      deny: *x\n';
  assert.equal(await edited('yaml', list, { names: ['w'] }), undefined);
  const tools = 'x: &x {deny: [one]}\nservers:\n  a:\n    image: a:1\n    tools: *x\n';
  assert.equal(await edited('yaml', tools, { names: ['w'] }), undefined);
});

test('a list with an item that is an alias is rewritten', async () => {
  const text =
    'servers:\n  a:\n    image: a:1\n    description: &n one\n    tools:\n      deny:\n        - *n\n';
  const made = await edited('yaml', text, { names: ['one', 'w'] });
  assert.equal(made, text.replace('- *n', '- one\n        - w'));
});
