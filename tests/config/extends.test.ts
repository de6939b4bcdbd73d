import assert from 'node:assert/strict';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'vitest';
import { type ServerConfig, readConfig } from '#config';

let folder = '';
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'agenthub-extends-')));
});
afterEach(async () => await rm(folder, { recursive: true, force: true }));

/** Writes files by name, objects as JSON, and loads the first of them as the config. */
async function load(
  files: Readonly<Record<string, string | object>>,
  main = Object.keys(files)[0],
) {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    await writeFile(join(folder, name), text);
  }
  const reading = await readConfig(join(folder, main ?? ''), {
    env: {},
    home: join(folder, 'home'),
  });
  const relative = (text: string) => text.replaceAll(`${folder}/`, '');
  return {
    servers: reading.config?.servers ?? [],
    naming: reading.config?.naming,
    files: reading.files.map(({ path }) => relative(path)),
    told: relative(reading.error?.message ?? ''),
  };
}

const named = (servers: readonly ServerConfig[], name: string) =>
  servers.find(server => server.name === name) ?? assert.fail(`no server ${name}`);
const envOf = ({ launch }: ServerConfig) => (launch.kind === 'local' ? launch.env : {});

describe('a file overrides those it extends', () => {
  test('servers by name and key by key; lists and values are replaced', async () => {
    const { servers, naming, files, told } = await load({
      'hub.json': {
        extends: './base.yaml',
        naming: { max_length: 50 },
        servers: {
          own: { image: 'own:1' },
          two: { timeout: 7, tags: ['c'], env: { B: 'child', C: 'new' }, resources: { cpus: 2 } },
        },
      },
      'base.yaml': `
naming: { separator: __, max_length: 40 }
servers:
  one: { image: "one:1" }
  two:
    image: "two:1"
    timeout: 5
    max_restarts: 9
    tags: [a, b]
    env: { A: base, B: base }
    resources: { memory: 1g }
`,
    });
    assert.equal(told, '');
    assert.deepEqual(files, ['hub.json', 'base.yaml']);
    assert.deepEqual(naming, { separator: '__', maxLength: 50 });
    assert.deepEqual(
      servers.map(({ name }) => name),
      ['one', 'two', 'own'],
      'what is below keeps its place',
    );
    const two = named(servers, 'two');
    assert.deepEqual(
      [two.callTimeoutMs, two.maxRestarts, two.tags, envOf(two)],
      [7000, 9, ['c'], { A: 'base', B: 'child', C: 'new' }],
    );
    assert.ok(two.launch.kind === 'local');
    assert.deepEqual(two.launch.sandbox.limits, {
      memoryBytes: 2 ** 30,
      cpus: 2,
      pids: 256,
      scratchBytes: 64 * 2 ** 20,
      volumeBytes: 10 * 2 ** 30,
    });
  });

  test('null removes a server, a key, or a variable', async () => {
    const { servers, told } = await load({
      'hub.json': {
        extends: 'base.json',
        servers: { one: null, two: { timeout: null, env: { A: null } } },
      },
      'base.json': {
        servers: {
          one: { image: 'one:1' },
          two: { image: 'two:1', timeout: 5, env: { A: '1', B: '2' } },
        },
      },
    });
    assert.equal(told, '');
    assert.deepEqual(
      servers.map(({ name }) => name),
      ['two'],
    );
    const two = named(servers, 'two');
    assert.deepEqual([two.callTimeoutMs, envOf(two)], [60_000, { B: '2' }]);
  });

  test('null that removes nothing is reported', async () => {
    const { told } = await load({
      'hub.json': '{"extends": "base.json",\n "servers": {"onne": null}}',
      'base.json': { servers: { one: { image: 'one:1' } } },
    });
    assert.match(told, /^hub\.json:2:14: servers\.onne: null removes a server.*none of these/s);
  });

  test('in a list of files each overrides those before it', async () => {
    const { servers, files } = await load({
      'hub.json': { extends: ['a.json', 'b.json'] },
      'a.json': {
        servers: { x: { image: 'x:1', timeout: 1 }, y: { image: 'y:1' }, z: { image: 'z:1' } },
      },
      'b.json': { servers: { x: { timeout: 2 }, y: null } },
    });
    assert.deepEqual(
      servers.map(({ name, callTimeoutMs }) => [name, callTimeoutMs]),
      [
        ['x', 2000],
        ['z', 60_000],
      ],
    );
    assert.deepEqual(files, ['hub.json', 'a.json', 'b.json']);
  });

  test('parents have parents, and one that two of them extend is read once', async () => {
    const { servers, files, told } = await load({
      'hub.json': { extends: ['left.json', 'right.json'] },
      'left.json': { extends: 'base.json', servers: { a: { timeout: 3 } } },
      'right.json': { extends: 'base.json', servers: { b: { image: 'b:1' } } },
      'base.json': { servers: { a: { image: 'a:1' } } },
    });
    assert.equal(told, '');
    assert.deepEqual(files, ['hub.json', 'left.json', 'base.json', 'right.json']);
    assert.equal(named(servers, 'a').callTimeoutMs, 3000, 'the later parent does not speak of it');
  });

  test('in the form of clients too: a server keeps the form and the defaults of the file that defines it', async () => {
    const { servers, told } = await load({
      'hub.json': {
        extends: 'client.json',
        servers: { one: { timeout: 5 }, mine: { image: 'm:1' } },
      },
      'client.json': { mcpServers: { one: { command: 'npx', args: ['-y', 'one@1.0.0'] } } },
    });
    assert.equal(told, '');
    assert.deepEqual(
      [named(servers, 'one'), named(servers, 'mine')].map(one => [
        one.autoStart,
        one.callTimeoutMs,
      ]),
      [
        [true, 5000],
        [false, 60_000],
      ],
    );
  });

  test('a key replaces other keys with the same meaning', async () => {
    const { servers, told } = await load({
      'hub.json': {
        extends: 'base.json',
        servers: { one: { enabled: true, restart: 'transient' } },
      },
      'base.json': {
        servers: { one: { image: 'one:1', disabled: true, restart_on_failure: false } },
      },
    });
    assert.equal(told, '');
    const one = named(servers, 'one');
    assert.deepEqual([one.enabled, one.restart], [true, 'transient']);
  });

  test('a variable in a value that is overridden need not be set', async () => {
    const { servers, told } = await load({
      'hub.json': { extends: 'base.json', servers: { one: { env: { KEY: 'plain' } } } },
      'base.json': { servers: { one: { image: 'one:1', env: { KEY: '${UNSET}' } } } },
    });
    assert.equal(told, '');
    assert.deepEqual(envOf(named(servers, 'one')), { KEY: 'plain' });
  });

  test('relative paths are relative to the file that contains them', async () => {
    const { servers, told } = await load({
      'hub.json': { extends: 'team/base.json', servers: { one: { mounts: ['data:/data'] } } },
      'team/base.json': {
        extends: '../shared.json',
        servers: {
          one: { command: 'server', args: [], runtime: 'process', cwd: 'work' },
          two: { image: 'two:1', mounts: ['data:/data'] },
        },
      },
      'shared.json': { servers: { three: { image: 'three:1', mounts: ['data:/data'] } } },
    });
    assert.equal(told, '');
    const places = servers.map(({ name, launch }) => {
      assert.ok(launch.kind === 'local');
      const { sandbox, workingDirectory } = launch;
      return [name, workingDirectory ?? '', sandbox.mounts[0]?.source].map(text =>
        text?.replace(`${folder}/`, ''),
      );
    });
    assert.deepEqual(places, [
      ['three', '', 'data'],
      ['one', 'team/work', 'data'],
      ['two', '', 'team/data'],
    ]);
  });

  test('names like __proto__ and constructor are treated as plain names', async () => {
    const { told } = await load({
      'hub.json': '{"extends": "base.json", "servers": {"__proto__": {"image": "x:1"}}}',
      'base.json': '{"servers": {"__proto__": {"timeout": 5}, "constructor": {"image": "c:1"}}}',
    });
    assert.match(told, /^hub\.json:1:38: servers\.__proto__: a server name has/);
    assert.ok(!told.includes('constructor'), told);
  });
});

describe('problems are reported where they are:', () => {
  test('in a parent with its line and column', async () => {
    const { told } = await load({
      'hub.json':
        '{\n "extends": "base.json",\n "servers": {"two": {"comand": "x", "image": "two:1"}}\n}',
      'base.json':
        '{\n "servers": {\n  "one": {"image": "one:1", "timeout": "soon"}},\n "nameing": {}\n}',
    });
    assert.deepEqual(told.split('\n'), [
      'base.json:3:29: servers.one.timeout: "soon" is not allowed: write a number of seconds from 1 to 86400, without quotes',
      'base.json:4:2: nameing: unknown key. Did you mean "naming"?',
      'hub.json:3:22: servers.two.comand: unknown key. Did you mean "command"?',
    ]);
  });

  test.for([
    ['absent', { extends: ['absent.json'] }, 'there is no such file (absent.json)'],
    ['a folder', { extends: ['sub.json'] }, 'it is a folder'],
    ['of another kind', { extends: ['base.toml'] }, 'must end in .json, .jsonc, .yaml or .yml'],
    ['an address', { extends: ['https://example.com/a.json'] }, 'is a URL'],
    ['no text', { extends: [5] }, 'write the path of a file'],
  ] as const)('a parent that is %s', async ([, file, expected]) => {
    await mkdir(join(folder, 'sub.json'));
    const { told, files } = await load({ 'hub.json': { ...file, servers: {} } });
    assert.ok(told.startsWith('hub.json:1:13: extends[0]: ') && told.includes(expected), told);
    assert.equal(told.split('\n').length, 1);
    if (expected.includes('no such')) assert.deepEqual(files, ['hub.json', 'absent.json']);
  });

  test('a parent that is invalid, without problems that follow from it', async () => {
    const { told, files } = await load({
      'hub.json': { extends: 'base.json', servers: { one: null, two: { timeout: 3 } } },
      'base.json': '{"servers": {',
    });
    assert.match(told, /^base\.json:1:14: not valid JSON: [^\n]*$/);
    assert.deepEqual(files, ['hub.json', 'base.json']);
  });

  test('a circle, with the files in it, also through a link', async () => {
    const { told } = await load({
      'hub.json': { extends: 'a.json', servers: {} },
      'a.json': { extends: 'b.json' },
      'b.json': { extends: 'a.json' },
    });
    assert.equal(
      told,
      'b.json:1:12: extends: makes a cycle: a.json → b.json → a.json. Remove one of them',
    );
    await symlink('hub.json', join(folder, 'link.json'));
    const { told: itself } = await load({ 'hub.json': { extends: 'link.json', servers: {} } });
    assert.match(itself, /makes a cycle: hub\.json → hub\.json/);
  });

  test('too many parents in a row or in total', async () => {
    const row = Array.from({ length: 20 }, (_, index): [string, object] => [
      `${index}.json`,
      { servers: {}, ...(index < 19 && { extends: `${index + 1}.json` }) },
    ]);
    assert.match((await load(Object.fromEntries(row), '0.json')).told, /^16\.json:.*16 levels/);
    const many = Array.from({ length: 70 }, (_, index) => `p${index}.json`);
    const { told, files } = await load({
      'hub.json': { extends: many, servers: {} },
      ...Object.fromEntries(many.map(name => [name, { servers: {} }])),
    });
    assert.match(told, /64 files in total/);
    assert.equal(files.length, 64);
  });

  test('one server in both forms of one file, also over a parent that has it', async () => {
    const { told } = await load({
      'hub.json': {
        extends: 'base.json',
        servers: { one: { timeout: 5 } },
        mcpServers: { one: { timeout: 6 } },
      },
      'base.json': { servers: { one: { image: 'one:1' } } },
    });
    assert.match(
      told,
      /mcpServers\.one: "one" is also a server in "servers": rename or remove one/,
    );
  });
});
