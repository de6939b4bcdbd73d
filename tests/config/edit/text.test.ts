import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { JsonObject } from '#core';
import { editableText } from '../../../hub/config/edit/text.ts';

const entry = { image: 'new:1', args: ['a b', '$$5'], env: { KEY: '- x: "y"' } };

const editable = async (text: string, file: string) =>
  await editableText(text, /\.ya?ml$/.test(file) ? 'yaml' : 'json');

/** Returns the text with another value for the entry of this name, or without the entry. */
async function edited(
  text: string,
  name: string,
  value: JsonObject | null | undefined,
  file = 'hub.json',
): Promise<string> {
  return (await editable(text, file)).with(name, value) ?? assert.fail('it cannot be edited');
}

const json = `// All that is here is kept.
{
    "$schema": "./hub.schema.json",

    /* two
       lines */
    "servers": {
        // the first
        "one": { "image":"one:1" },   // a tail

        "two": {
            "image": "two:1" // inside
        } // no comma after it
        // "three": {"image": "three:1"}
    }, "naming": {"separator":"_"}
}

// the end`;

const yaml = `# All that is here is kept.
"$schema":   ./hub.schema.json


servers:   # of ours
    # the first
    one: { image:  'one:1' }   # a tail

    two:
        image: "two:1" # inside
        # below it
    # three: { image: "three:1" }

# outside
naming: {separator: _}
# the end`;

describe('an edit changes its own lines only', () => {
  test('a server added to JSON comes last, indented like the others', async () => {
    const text = await edited(json, 'new', { image: 'new:1', tags: ['x'] }, 'hub.json');
    const added = `
        "new": {
            "image": "new:1",
            "tags": [
                "x"
            ]
        }`;
    assert.equal(
      text,
      json.replace('} // no comma', '}, // no comma').replace('"three:1"}', match => match + added),
    );
  });

  test('a server added to YAML comes last, indented like the others', async () => {
    const text = await edited(yaml, 'new', { image: 'new:1', tags: ['x'] }, 'hub.yaml');
    const added = `
    new:
        image: new:1
        tags:
            - x`;
    assert.equal(
      text,
      yaml.replace('# three: { image: "three:1" }', match => match + added),
    );
  });

  test.for([
    ['hub.json', json],
    ['hub.yaml', yaml],
    ['hub.json', '{"servers": {"one": {"image": "one:1"}}}'],
    ['hub.json', '{"servers": {"one": {"image": "one:1"},},}\n'],
    ['hub.json', '{\n  "servers": {\n    "one": {"image": "one:1"}, // tail\n    // end\n  }\n}\n'],
    ['hub.json', '{\n\t"mcpServers": {\n\t\t"one": { "command": "x" }\n\t}\n}'],
    ['hub.jsonc', '{"servers":\n{\n"one": {"image": "one:1"}\n}\n}'],
    ['hub.yml', 'servers: {one: {image: "one:1"}}'],
    [
      'hub.yml',
      'servers: {\n  one: {image: "one:1"}, # tail\n  two: {image: "two:1"} # last\n  }\n',
    ],
    ['hub.yml', 'servers: {} # none yet\nnaming: {}\n'],
    ['hub.yml', 'naming: {}\nservers: {}'],
    [
      'hub.yml',
      'servers:\n  one:\n    image: one:1\n    description: |\n      # no comment\n\n      end\n',
    ],
    ['hub.yml', '---\nservers:\n  one:\n    image: one:1\n...\n'],
    ['hub.yml', 'mcpServers:\n- not: here\n'.replace('\n- not: here', ' {one: {command: x}}')],
  ] as const)('adding and removing a server restores %s: %j', async ([file, text]) => {
    for (const form of [text, text.replaceAll('\n', '\r\n'), `\uFEFF${text}`]) {
      const added = await edited(form, 'new', entry, file);
      assert.notEqual(added, form);
      assert.ok(added.includes('new'));
      if (form.includes('\r')) assert.doesNotMatch(added, /[^\r]\n/);
      assert.equal(await edited(added, 'new', undefined, file), form);
    }
  });

  test('a server between others is removed with its lines, and the comment above stays', async () => {
    const fromJson = await edited(json, 'one', undefined);
    assert.equal(fromJson, json.replace('        "one": { "image":"one:1" },   // a tail\n', ''));
    const fromYaml = await edited(yaml, 'one', undefined, 'hub.yaml');
    assert.equal(fromYaml, yaml.replace("    one: { image:  'one:1' }   # a tail\n", ''));
  });

  test('the last server is removed with the comma before it', async () => {
    assert.equal(
      await edited('{"servers": {"a": {"image": "a:1"}, "b": {"image": "b:1"}}}', 'b', undefined),
      '{"servers": {"a": {"image": "a:1"}}}',
    );
    assert.equal(
      await edited(json, 'two', undefined),
      json.replace(/"one:1" \},/, '"one:1" }').replace(/ {8}"two"[^]*no comma after it\n/, ''),
    );
    const without = await edited(yaml, 'two', undefined, 'hub.yaml');
    assert.equal(without, yaml.replace(/ {4}two:[^]*below it\n/, ''));
  });

  test('the only server leaves an empty object', async () => {
    const text = 'servers: # all\n  one: { image: "one:1" }\n# end\n';
    assert.equal(await edited(text, 'one', undefined, 'hub.yaml'), 'servers: {} # all\n# end\n');
    assert.equal(
      await edited('{"servers": {"a": {"image": "a:1"}}}', 'a', undefined),
      '{"servers": {}}',
    );
  });

  test('a server that is replaced keeps its position', async () => {
    const set = { image: 'set:1' };
    assert.equal(
      await edited(json, 'one', set, 'hub.json'),
      json.replace('{ "image":"one:1" }', '{\n            "image": "set:1"\n        }'),
    );
    assert.equal(
      await edited(yaml, 'two', set, 'hub.yaml'),
      yaml.replace(/ {4}two:[^]*below it\n/, '    two:\n        image: set:1\n'),
    );
    assert.equal(
      await edited('servers: {a: {image: "a:1"}, b: {image: "b:1"}}', 'a', set, 'hub.yaml'),
      'servers: {a: { "image": "set:1" }, b: {image: "b:1"}}',
    );
  });
});

describe('in braces on one line', () => {
  const two = '{"servers": {"a": {"image": "a:1"}, "b": {"image": "b:1"}}}';
  const set = { image: 'set:1', tags: [], env: {}, args: [1, null] };

  test('an entry is inserted on that line', async () => {
    assert.equal(
      await edited(two, 'a', set),
      two.replace(
        '{"image": "a:1"}',
        '{ "image": "set:1", "tags": [], "env": {}, "args": [1, null] }',
      ),
    );
    assert.equal(await edited(two, 'c', null), two.replace('}}}', '}, "c": null}}'));
  });

  test.for([
    ['a', two, '{"servers": {"b": {"image": "b:1"}}}'],
    ['a', '{"servers": {"a": {}, // first\n "b": {}}}', '{"servers": {// first\n "b": {}}}'],
    ['b', '{"servers": {"a": {}, "b": {},}}', '{"servers": {"a": {},}}'],
    ['b', '{"servers": {"a": {} /* x */, "b": {}}}', '{"servers": {"a": {} /* x */}}'],
    ['b', '{"servers": {"a": {}, /* x */ "b": {}}}', '{"servers": {"a": {} /* x */ }}'],
    ['b', '{"servers": {"a": {},\n"b": {}}}', '{"servers": {"a": {}}}'],
    ['b', '{"servers": {"a": {} // x\n, "b": {}}}', '{"servers": {"a": {} // x\n}}'],
    ['b', '{"servers": {"a": {}, // x\n"b": {}}}', '{"servers": {"a": {} // x\n}}'],
  ] as const)('%s is removed from %j with its comma', async ([name, text, expected]) => {
    assert.equal(await edited(text, name, undefined), expected);
  });

  test('a comment in empty braces stays', async () => {
    assert.equal(
      await edited('{"servers": { /* none */ }}', 'a', {}),
      '{"servers": { /* none */\n  "a": {}\n }}',
    );
  });
});

test('an entry is added to "servers", or to "mcpServers" if the file has only that', async () => {
  assert.equal(
    await edited('{"mcpServers": {"a": {}}, "servers": {"b": {}}}', 'c', {}),
    '{"mcpServers": {"a": {}}, "servers": {"b": {}, "c": {}}}',
  );
  assert.equal(await edited('{"mcpServers": {}}', 'c', null), '{"mcpServers": {\n  "c": null\n}}');
});

test('an entry is changed in the group that contains it', async () => {
  const text = '{"mcpServers": {"a": {}}, "servers": {}}';
  const file = await editable(text, 'hub.json');
  assert.deepEqual([file.has('a'), file.has('b'), file.has('toString')], [true, false, false]);
  assert.equal(file.with('a', null), text.replace('{"a": {}}', '{"a": null}'));
  assert.equal(file.with('b', undefined), text);
});

test.for([
  ['hub.yaml', 'one: &one {a: {image: "a:1"}}\nservers: *one\n'],
  ['hub.yaml', 'servers:\n'],
  ['hub.yaml', '- servers\n'],
  ['hub.json', '{"servers": []}'],
  ['hub.json', ''],
] as const)('%s cannot be edited: %j', async ([file, text]) => {
  assert.equal((await editable(text, file)).with('b', {}), undefined);
});

test('a YAML entry that shares its line with another one cannot be edited', async () => {
  const text = '? {x: y}\n: 1\nservers:\n  ? a\n  : image: a:1\n';
  assert.equal((await editable(text, 'hub.yaml')).with('a', {}), undefined);
});
