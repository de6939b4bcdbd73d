import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { createConfigEditor, loadConfig } from '#config';
import type { JsonObject } from '#core';
import { writeWhole } from '#store';
import { createEditor, temporary } from '../editing.ts';

const entry = { image: 'new:1', args: ['a b', '$$5'], env: { KEY: '- x: "y"' } };

type Do = 'add' | 'remove';

test('an object for servers is added to a file without one', async () => {
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

test('a server that shares a secret with a disabled one is added and removed', async () => {
  await using folder = await temporary();
  const path = join(folder.path, 'hub.json');
  const env = { KEY: '${secret:SHARED}' };
  const text = JSON.stringify({ servers: { off: { image: 'off:1', enabled: false, env } } });
  await writeFile(path, text);
  const secrets = async (names: readonly string[]) =>
    new Map(names.map(name => [name, { value: 'x' }]));
  const readOptions = async () => ({ env: {}, home: folder.path, secrets });
  const editor = createConfigEditor({ readOptions, writeWhole });
  await editor.addServer(path, 'on', { image: 'on:1', env });
  await editor.removeServer(path, 'on');
  assert.deepEqual(JSON.parse(await readFile(path, 'utf8')), JSON.parse(text));
});

test.for([
  ['hub.json', '{"servers": {"one": {"image": "one:1"}}}'],
  ['hub.yaml', 'servers:\n  one: {image: "one:1"}\n'],
] as const)('a written entry is read back unchanged: %s', async ([file, text]) => {
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

test.for([
  [
    'hub.json',
    '{"servers": {"one": {"package": "n@1.0.0", "tags": ["x"]}, // mine\n"two": {"image": "two:1"}}}',
    '{"servers": {"one": {"package": "n@2.0.0", "tags": ["x"]}, // mine\n"two": {"image": "two:1"}}}',
  ],
  [
    'hub.yaml',
    'servers:\n  one:\n    package: n@1.0.0 # pinned\n    tags: [x]\n',
    'servers:\n  one:\n    package: "n@2.0.0" # pinned\n    tags: [x]\n',
  ],
] as const)(
  'only the changed values of an entry are replaced: %s',
  async ([file, text, expected]) => {
    await using folder = await temporary();
    const path = join(folder.path, file);
    await writeFile(path, text);
    const editor = createEditor(folder.path);
    assert.deepEqual(await editor.findEntry(path, 'one'), { package: 'n@1.0.0', tags: ['x'] });
    const values = { package: 'n@2.0.0' };
    const previewed = await editor.previewValues(path, 'one', values);
    assert.ok(previewed.launch.kind === 'local');
    assert.equal(previewed.launch.package?.spec, 'n@2.0.0');
    assert.equal(await readFile(path, 'utf8'), text);
    await editor.setValues(path, 'one', values);
    assert.equal(await readFile(path, 'utf8'), expected);
  },
);

test.for([
  [
    'hub.yaml',
    'servers:\n  one:\n    command: uvx\n    args:\n      - --from # the package\n      - n==1.0 # pinned\n      - n\n',
    'servers:\n  one:\n    command: uvx\n    args:\n      - --from # the package\n      - "n==2.0" # pinned\n      - n\n',
  ],
  [
    'hub.json',
    '{"servers": {"one": {"command": "uvx", "args": ["--from", /* it */ "n==1.0", "n"]}}}',
    '{"servers": {"one": {"command": "uvx", "args": ["--from", /* it */ "n==2.0", "n"]}}}',
  ],
] as const)(
  'only the items of a list that differ are replaced: %s',
  async ([file, text, expected]) => {
    await using folder = await temporary();
    const path = join(folder.path, file);
    await writeFile(path, text);
    await createEditor(folder.path).setValues(path, 'one', { args: ['--from', 'n==2.0', 'n'] });
    assert.equal(await readFile(path, 'utf8'), expected);
  },
);

test('values of an entry that is in another file, does not exist or lacks them are refused', async () => {
  await using folder = await temporary();
  await writeFile(join(folder.path, 'base.json'), '{"servers": {"base": {"package": "b@1.0.0"}}}');
  const path = join(folder.path, 'hub.json');
  await writeFile(path, '{"extends": "base.json", "servers": {"one": {"image": "one:1"}}}');
  const editor = createEditor(folder.path);
  const values = { package: 'n@2.0.0' };
  await assert.rejects(
    editor.setValues(path, 'base', values),
    /is in .*base\.json\. Change it there/,
  );
  await assert.rejects(editor.setValues(path, 'none', values), { code: 'HUB_SERVER_UNKNOWN' });
  await assert.rejects(editor.setValues(path, 'one', values), { code: 'HUB_CONFIG_CONFLICT' });
  assert.equal(await editor.findEntry(path, 'base'), undefined);
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
      kind === 'remove' ? editor.removeServer(path, name) : editor.addServer(path, name, with_);
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
    [one, 'remove', 'constructor', /^HUB_SERVER_UNKNOWN/],
    [
      one,
      'add',
      '__proto__',
      /^HUB_REQUEST_INVALID name: "__proto__" is not allowed: a server name/,
    ],
    [one, 'add', 'x'.repeat(5_000), /^HUB_REQUEST_INVALID name: "x{59}\.\.\. is not allowed/],
    [one, 'add', 'with.dot', /^HUB_REQUEST_INVALID/],
    [one, 'add', 'sägewerk', /^HUB_REQUEST_INVALID/],
    [one, 'add', 'a"b', /^HUB_REQUEST_INVALID name: "a\\"b"/],
    [{ 'hub.json': '{"servers": {' }, 'add', 'two', /^HUB_CONFIG_INVALID hub\.json:1:14/],
    [
      { 'hub.yaml': 'servers: # none yet\n' },
      'add',
      'two',
      /^HUB_CONFIG_INVALID hub\.yaml:1:1: servers: null is not allowed: write an object/,
    ],
    [{ 'hub.toml': 'x = 1' }, 'add', 'two', /^HUB_CONFIG_INVALID hub\.toml: the name/],
  ] as const)('%#: %s %s', async ([files, kind, name, expected]) => {
    assert.match(await refused(files, kind, name), expected);
  });

  test('for an invalid entry, with what is wrong with it', async () => {
    assert.match(
      await refused(one, 'add', 'two', { imag: 'x' }),
      /^HUB_CONFIG_INVALID hub\.json:1:\d+: servers\.two\.command: is missing|servers\.two\.imag: unknown key. Did you mean "image"/,
    );
  });

  test('for an invalid entry and an invalid file, with lines of the file only', async () => {
    const invalid = { 'hub.json': '{"servers": {},\n"polcy": [],\n"naming": 5}' };
    const expected = [
      'HUB_CONFIG_INVALID servers.two.network: "host" is not allowed: ',
      'hub.json:2:1: polcy: unknown key. Did you mean "policy"?',
      'hub.json:3:1: naming: 5 is not allowed: ',
    ];
    const told = await refused(invalid, 'add', 'two', { image: 'two:1', network: 'host' });
    assert.deepEqual(
      told.split('\n').map((line, at) => line.slice(0, expected[at]?.length)),
      expected,
    );
    const alone = await refused(one, 'add', 'two', { image: 'two:1', network: 'host' });
    assert.match(alone, /^HUB_CONFIG_INVALID servers\.two\.network: /);
    const form = { 'hub.yaml': 'mcpServers:\n  one:\n    image: "one:1"\n' };
    assert.match(
      await refused(form, 'add', 'two', { imag: 'two:1' }),
      /^HUB_CONFIG_INVALID mcpServers\.two/,
    );
  });

  test('for an entry that other entries are aliases of', async () => {
    const files = { 'hub.yaml': 'servers:\n  a: &a\n    image: "a:1"\n  b: *a\n' };
    assert.match(await refused(files, 'remove', 'a'), /^HUB_CONFIG_(INVALID|CONFLICT) hub\.yaml/);
    const twice =
      'servers:\n  a: &a {image: "a:1"}\n  b: &a {image: "b:1"}\n  c:\n    image: "c:1"\n    env: {X: y}\n  d: *a\n';
    const told = await refused({ 'hub.yaml': twice }, 'remove', 'b');
    assert.match(told, /^HUB_CONFIG_CONFLICT hub\.yaml: .*Edit it by hand/);
  });

  test('for an anchor that the rest of the file needs, without a line number of text that was never saved', async () => {
    const files = { 'hub.yaml': 'servers:\n  a: &a\n    image: "a:1"\n  b: *a\n' };
    const told = await refused(files, 'remove', 'a');
    assert.match(told, /^HUB_CONFIG_CONFLICT hub\.yaml: its syntax .*Edit it by hand/);
  });

  test('for text that is not UTF-8, which would be changed by writing it', async () => {
    await using folder = await temporary();
    const path = join(folder.path, 'hub.json');
    const bytes = Buffer.from('{"servers": {}} // gr\u00fc\u00dfe', 'latin1');
    await writeFile(path, bytes);
    await assert.rejects(createEditor(folder.path).addServer(path, 'two', entry), /not UTF-8/);
    assert.deepEqual(await readFile(path), bytes);
  });
});

test('an invalid server can be removed', async () => {
  await using folder = await temporary();
  const path = join(folder.path, 'hub.json');
  await writeFile(path, '{"servers": {"one": {"image": "one:1"}, "bad": {"image": "${UNSET}"}}}');
  await createEditor(folder.path).removeServer(path, 'bad');
  assert.equal(await readFile(path, 'utf8'), '{"servers": {"one": {"image": "one:1"}}}');
});

describe('a server that the file inherits', () => {
  test.for([
    ['servers: {}\n', 'servers:\n  base: null\n'],
    [
      'servers:\n  base: {timeout: 5}\n  own: {image: "o:1"}\n',
      'servers:\n  base: null\n  own: {image: "o:1"}\n',
    ],
  ] as const)('is removed by null: %j', async ([text, expected]) => {
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
    await assert.rejects(editor.removeServer(path, 'base'), { code: 'HUB_SERVER_UNKNOWN' });
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
    'and removes by null is added again in its place, without the inherited values: %s',
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
