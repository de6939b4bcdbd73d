import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { loadConfig } from '#config';
import type { JsonObject } from '#core';
import { createEditor, temporary } from '../editing.ts';

const entry = { image: 'new:1', args: ['a b', '$$5'], env: { KEY: '- x: "y"' } };

type Do = 'add' | 'set' | 'remove';

/** What an edit makes of a text, in a file of its own. */
async function edited(
  text: string,
  kind: Do,
  name: string,
  file = 'hub.json',
  with_: JsonObject = entry,
): Promise<string> {
  await using folder = await temporary();
  const path = join(folder.path, file);
  await writeFile(path, text);
  const editor = createEditor(folder.path);
  if (kind === 'add') await editor.addServer(path, name, with_);
  if (kind === 'set') await editor.setServer(path, name, with_);
  if (kind === 'remove') await editor.removeServer(path, name);
  return await readFile(path, 'utf8');
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
  test('a server added to JSON comes last, as the others are indented', async () => {
    const text = await edited(json, 'add', 'new', 'hub.json', { image: 'new:1', tags: ['x'] });
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

  test('a server added to YAML comes last, as the others are indented', async () => {
    const text = await edited(yaml, 'add', 'new', 'hub.yaml', { image: 'new:1', tags: ['x'] });
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
  ] as const)('what is added and removed again leaves %s as it was: %j', async ([file, text]) => {
    for (const form of [text, text.replaceAll('\n', '\r\n'), `\uFEFF${text}`]) {
      const added = await edited(form, 'add', 'new', file);
      assert.notEqual(added, form);
      assert.ok(added.includes('new'));
      if (form.includes('\r')) assert.doesNotMatch(added, /[^\r]\n/);
      assert.equal(await edited(added, 'remove', 'new', file), form);
    }
  });

  test('a server between others goes with its lines, and the comment above stays', async () => {
    const fromJson = await edited(json, 'remove', 'one');
    assert.equal(fromJson, json.replace('        "one": { "image":"one:1" },   // a tail\n', ''));
    const fromYaml = await edited(yaml, 'remove', 'one', 'hub.yaml');
    assert.equal(fromYaml, yaml.replace("    one: { image:  'one:1' }   # a tail\n", ''));
  });

  test('the last server goes with the comma before it', async () => {
    assert.equal(
      await edited('{"servers": {"a": {"image": "a:1"}, "b": {"image": "b:1"}}}', 'remove', 'b'),
      '{"servers": {"a": {"image": "a:1"}}}',
    );
    assert.equal(
      await edited(json, 'remove', 'two'),
      json.replace(/"one:1" \},/, '"one:1" }').replace(/ {8}"two"[^]*no comma after it\n/, ''),
    );
    const without = await edited(yaml, 'remove', 'two', 'hub.yaml');
    assert.equal(without, yaml.replace(/ {4}two:[^]*below it\n/, ''));
  });

  test('the only server leaves an empty object', async () => {
    const text = 'servers: # all\n  one: { image: "one:1" }\n# end\n';
    assert.equal(await edited(text, 'remove', 'one', 'hub.yaml'), 'servers: {} # all\n# end\n');
    assert.equal(
      await edited('{"servers": {"a": {"image": "a:1"}}}', 'remove', 'a'),
      '{"servers": {}}',
    );
  });

  test('a server that is set anew keeps its place', async () => {
    const set = { image: 'set:1' };
    assert.equal(
      await edited(json, 'set', 'one', 'hub.json', set),
      json.replace('{ "image":"one:1" }', '{\n            "image": "set:1"\n        }'),
    );
    assert.equal(
      await edited(yaml, 'set', 'two', 'hub.yaml', set),
      yaml.replace(/ {4}two:[^]*below it\n/, '    two:\n        image: set:1\n'),
    );
    assert.equal(
      await edited('servers: {a: {image: "a:1"}, b: {image: "b:1"}}', 'set', 'a', 'hub.yaml', set),
      'servers: {a: { "image": "set:1" }, b: {image: "b:1"}}',
    );
  });

  test('a file without servers of its own gets the object for them', async () => {
    await using folder = await temporary();
    await writeFile(join(folder.path, 'base.json'), '{"servers": {"base": {"image": "b:1"}}}');
    const editor = createEditor(folder.path);
    for (const [file, text, expected] of [
      [
        'a.yaml',
        'extends: base.json # ours\n',
        /^extends: base\.json # ours\nservers:\n {2}new:\n {4}image/,
      ],
      ['b.json', '{"extends": "base.json"}', /^\{"extends": "base\.json", "servers": \{ "new"/],
    ] as const) {
      const path = join(folder.path, file);
      await writeFile(path, text);
      await editor.addServer(path, 'new', entry);
      assert.match(await readFile(path, 'utf8'), expected);
    }
  });
});

test.for([
  ['hub.json', '{"servers": {"one": {"image": "one:1"}}}'],
  ['hub.yaml', 'servers:\n  one: {image: "one:1"}\n'],
] as const)('what is written is read as it was meant: %s', async ([file, text]) => {
  await using folder = await temporary();
  const path = join(folder.path, file);
  await writeFile(path, text);
  const editor = createEditor(folder.path);
  const env = {
    quotes: `it's "quoted" \\ and: # more`,
    lines: 'one\n  two\n\n',
    word: 'yes',
    number: '0123',
    unicode: 'Grüße 🎉 \u2028',
    empty: '',
    star: '*alias',
    __proto__x: '&a',
  };
  const config = await editor.addServer(path, '10', { image: 'x:1', env, description: '日本' });
  const [, added] = config.servers;
  assert.ok(added?.launch.kind === 'local');
  assert.deepEqual(added.launch.env, env);
  assert.deepEqual([added.name, added.description], ['10', '日本']);
});

describe('an edit is refused, and the file stays as it was,', () => {
  async function refused(
    files: Readonly<Record<string, string>>,
    kind: Do,
    name: string,
    with_: JsonObject = entry,
  ) {
    await using folder = await temporary();
    for (const [file, text] of Object.entries(files))
      await writeFile(join(folder.path, file), text);
    const [first = '', text] = Object.entries(files)[0] ?? [];
    const path = join(folder.path, first);
    const editor = createEditor(folder.path);
    const outcome =
      kind === 'remove'
        ? editor.removeServer(path, name)
        : kind === 'add'
          ? editor.addServer(path, name, with_)
          : editor.setServer(path, name, with_);
    const error: unknown = await outcome.then(
      () => assert.fail('was not refused'),
      (thrown: unknown) => thrown,
    );
    assert.equal(await readFile(path, 'utf8'), text);
    assert.ok(error instanceof Error && 'code' in error, String(error));
    return `${String(error.code)} ${error.message.replaceAll(`${folder.path}/`, '')}`;
  }
  const one = { 'hub.json': '{"servers": {"one": {"image": "one:1"}}}' };
  const child = {
    'hub.yaml': 'extends: base.json\nservers: {}\n',
    'base.json': '{"servers": {"one": {"image": "one:1"}}}',
  };

  test.for([
    [one, 'add', 'one', /^HUB_CONFIG_CONFLICT hub\.json: there is a server "one" already\./],
    [child, 'add', 'one', /^HUB_CONFIG_CONFLICT hub\.yaml: .* in base\.json, which it extends/],
    [one, 'remove', 'two', /^HUB_SERVER_UNKNOWN hub\.json: it has no server "two"$/],
    [one, 'remove', '__proto__', /^HUB_SERVER_UNKNOWN/],
    [one, 'set', 'constructor', /^HUB_SERVER_UNKNOWN/],
    [child, 'set', 'one', /^HUB_SERVER_UNKNOWN .*which is in base\.json: change it there/],
    [
      one,
      'add',
      '__proto__',
      /^HUB_REQUEST_INVALID name: "__proto__" is not allowed: a server name/,
    ],
    [one, 'add', 'with.dot', /^HUB_REQUEST_INVALID/],
    [one, 'add', 'sägewerk', /^HUB_REQUEST_INVALID/],
    [one, 'add', 'a"b', /^HUB_REQUEST_INVALID name: "a\\"b"/],
    [{ 'hub.json': '{"servers": {' }, 'add', 'two', /^HUB_CONFIG_INVALID hub\.json:1:14/],
    [{ 'hub.toml': 'x = 1' }, 'add', 'two', /^HUB_CONFIG_INVALID hub\.toml: the name/],
  ] as const)('%#: %s %s', async ([files, kind, name, expected]) => {
    assert.match(await refused(files, kind, name), expected);
  });

  test('for an entry that is not valid, with what is wrong with it', async () => {
    assert.match(
      await refused(one, 'add', 'two', { imag: 'x' }),
      /^HUB_CONFIG_INVALID hub\.json:1:\d+: servers\.two\.command: is missing|servers\.two\.imag: unknown key. Did you mean "image"/,
    );
  });

  test('for an entry that others are made of', async () => {
    const files = { 'hub.yaml': 'servers:\n  a: &a\n    image: "a:1"\n  b: *a\n' };
    assert.match(await refused(files, 'set', 'a'), /^HUB_CONFIG_(INVALID|CONFLICT) hub\.yaml/);
    assert.match(await refused(files, 'remove', 'a'), /^HUB_CONFIG_(INVALID|CONFLICT) hub\.yaml/);
    const twice =
      'servers:\n  a: &a {image: "a:1"}\n  b: &a {image: "b:1"}\n  c:\n    image: "c:1"\n    env: {X: y}\n  d: *a\n';
    const told = await refused({ 'hub.yaml': twice }, 'remove', 'b');
    assert.match(told, /^HUB_CONFIG_CONFLICT hub\.yaml: .*Edit it by hand/);
  });

  test('for text that is not UTF-8, which would be written back as something else', async () => {
    await using folder = await temporary();
    const path = join(folder.path, 'hub.json');
    const bytes = Buffer.from('{"servers": {}} // gr\u00fc\u00dfe', 'latin1');
    await writeFile(path, bytes);
    await assert.rejects(createEditor(folder.path).addServer(path, 'two', entry), /not UTF-8/);
    assert.deepEqual(await readFile(path), bytes);
  });
});

test('a server that is not valid can be removed', async () => {
  const text = '{"servers": {"one": {"image": "one:1"}, "bad": {"image": "${UNSET}"}}}';
  assert.equal(await edited(text, 'remove', 'bad'), '{"servers": {"one": {"image": "one:1"}}}');
});

describe('a server that the file has from one it extends', () => {
  test.for([
    ['servers: {}\n', 'servers:\n  base: null\n'],
    [
      'servers:\n  base: {timeout: 5}\n  own: {image: "o:1"}\n',
      'servers:\n  base: null\n  own: {image: "o:1"}\n',
    ],
  ] as const)('is taken away by null: %j', async ([text, expected]) => {
    await using folder = await temporary();
    const path = join(folder.path, 'hub.yaml');
    const base = join(folder.path, 'base.json');
    await writeFile(base, '{"servers": {"base": {"image": "b:1"}}}');
    await writeFile(path, `extends: base.json\n${text}`);
    const editor = createEditor(folder.path);
    const config = await editor.removeServer(path, 'base');
    assert.ok(!config.servers.some(({ name }) => name === 'base'));
    assert.equal(await readFile(path, 'utf8'), `extends: base.json\n${expected}`);
    assert.equal(await readFile(base, 'utf8'), '{"servers": {"base": {"image": "b:1"}}}');
    const again = await editor.addServer(path, 'base', entry);
    assert.ok(again.servers.some(({ name }) => name === 'base'));
    await assert.rejects(editor.addServer(path, 'base', entry), { code: 'HUB_CONFIG_CONFLICT' });
    await editor.removeServer(path, 'base');
    assert.equal(await readFile(path, 'utf8'), `extends: base.json\n${expected}`);
  });

  const base = {
    servers: {
      base: {
        package: 'npm:old@1.0.0',
        type: 'stdio',
        disabled: false,
        env: { OLD: '1', BOTH: '1' },
      },
    },
  };

  test.for([
    [
      'hub.json',
      '{\n  // first\n  "extends": "base.json",\n  "servers": {\n    // gone\n    "base": null, // a tail\n    "own": {"image": "o:1"},\n  },\n}\n',
      '"base": null',
      `"base": {
      "image": "new:1",
      "transport": "stdio",
      "env": {
        "BOTH": "2",
        "OLD": null
      },
      "package": null,
      "disabled": null
    }`,
    ],
    [
      'hub.yaml',
      '# first\nextends: base.json\nservers:\n  # gone\n  base:\n  # next\n  own: {image: "o:1"}\n',
      'base:\n  #',
      `base:
    image: new:1
    transport: stdio
    env:
      BOTH: "2"
      OLD: null
    package: null
    disabled: null
  #`,
    ],
    [
      'hub.yml',
      'extends: base.json\nservers: {base: ~, own: {image: "o:1"}} # all\n',
      'base: ~',
      'base: { "image": "new:1", "transport": "stdio", "env": { "BOTH": "2", "OLD": null }, "package": null, "disabled": null }',
    ],
  ] as const)(
    'and takes away is added again in its place, with nothing of what is below: %s',
    async ([file, text, taken, put]) => {
      await using folder = await temporary();
      const path = join(folder.path, file);
      await writeFile(join(folder.path, 'base.json'), JSON.stringify(base));
      await writeFile(path, text);
      const added = { image: 'new:1', transport: 'stdio', env: { BOTH: '2' } };
      const config = await createEditor(folder.path).addServer(path, 'base', added);
      assert.equal(await readFile(path, 'utf8'), text.replace(taken, put));
      const alone = join(folder.path, 'alone.json');
      await writeFile(alone, JSON.stringify({ servers: { base: added } }));
      const { servers } = await loadConfig(alone, { env: {}, home: folder.path });
      assert.deepEqual(
        config.servers.find(({ name }) => name === 'base'),
        servers[0],
      );
    },
  );
});
