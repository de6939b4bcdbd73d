import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { builtinNameOf, loadConfig, warningsOf } from '#config';
import { builtinNameWarnings } from '../../hub/config/warnings.ts';

async function warnings(text: object): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'agenthub-warnings-'));
  const file = join(folder, 'hub.json');
  writeFileSync(file, JSON.stringify(text));
  const config = await loadConfig(file, { env: {}, home: '/home/user' });
  rmSync(folder, { recursive: true });
  return warningsOf(config);
}

test.each([
  ['@org/server@1.2.3', 0],
  ['server@1', 0],
  ['uvx:name==1.0', 0],
  ['@org/server', 1],
  ['server@latest', 1],
  ['uvx:name', 1],
])('the package %s causes %i warnings', async (spec, count) => {
  const found = await warnings({ servers: { one: { package: spec } } });
  assert.equal(found.length, count, found.join('\n'));
  if (count > 0) assert.match(found[0] ?? '', /^one: the package .* has no version/);
});

test('a disabled server and the default separator cause none; "." causes one', async () => {
  const servers = { one: { package: 'server', disabled: true } };
  assert.deepEqual(await warnings({ servers }), []);
  const [warning = ''] = await warnings({ servers, naming: { separator: '.' } });
  assert.match(warning, /naming\.separator/);
});

test('a command that is not in an image causes a warning, unless it runs as a process', async () => {
  const entry = { command: 'python3', args: ['server.py'] };
  const [warning = ''] = await warnings({ servers: { one: entry } });
  assert.match(warning, /^one: the command "python3" is not in an image/);
  assert.deepEqual(await warnings({ servers: { one: { ...entry, runtime: 'process' } } }), []);
  assert.deepEqual(await warnings({ servers: { one: { ...entry, image: 'python:3.13' } } }), []);
});

test.each([
  ['work,notes', 'Write "work", "notes" instead'],
  [' work', 'Write "work" instead'],
  [', ', 'Remove it'],
])(
  'the tag %j, which --tags cannot select, causes a warning with a remedy',
  async (tag, remedy) => {
    const one = { image: 'any:1', tags: ['fine', 'two words', tag] };
    assert.deepEqual(await warnings({ servers: { one } }), [
      `one: "tags" has ${JSON.stringify(tag)}, which --tags cannot select, as it splits its text at commas and ignores spaces around tags. ${remedy}`,
    ]);
    assert.deepEqual(await warnings({ servers: { one: { ...one, disabled: true } } }), []);
  },
);

test('keys for instances per session cause a warning if the server has none', async () => {
  const entry = { image: 'any:1', max_instances: 2, instance_idle: 60 };
  const [both = '', ...rest] = await warnings({ servers: { one: entry } });
  assert.match(both, /^one: "max_instances" and "instance_idle" have no effect.* remove them$/);
  assert.deepEqual(rest, []);
  const [idle = ''] = await warnings({ servers: { one: { image: 'any:1', instance_idle: 60 } } });
  assert.match(idle, /^one: "instance_idle" has no effect.* remove it$/);
  assert.deepEqual(await warnings({ servers: { one: { ...entry, instance: 'session' } } }), []);
  assert.deepEqual(await warnings({ servers: { one: { image: 'any:1' } } }), []);
});

test.each([
  ['a package that is known to write', { package: '@modelcontextprotocol/server-memory@1.0.0' }, 1],
  ['a volume', { image: 'any:1', volumes: [{ name: 'notes', target: '/data' }] }, 1],
  ['a folder to write to', { image: 'any:1', mounts: ['/srv:/notes:rw'] }, 1],
  ['a folder to read', { image: 'any:1', mounts: ['/srv:/notes'] }, 0],
  ['nothing to write to', { package: 'server@1' }, 0],
])(
  'instances per session with %s cause %i warnings that they share it',
  async (_, entry, count) => {
    const found = await warnings({ servers: { one: { ...entry, instance: 'session' } } });
    assert.equal(found.length, count, found.join('\n'));
    if (count > 0) assert.match(found[0] ?? '', /^one: with "instance": "session" all instances/);
    assert.deepEqual(await warnings({ servers: { one: entry } }), []);
  },
);

test('a server of the hub gets a name that no entry has', () => {
  const named = (...taken: readonly string[]) =>
    builtinNameOf('agenthub', name => taken.includes(name));
  assert.equal(named(), 'agenthub');
  assert.equal(named('agenthub'), 'agenthub-builtin');
  assert.equal(named('agenthub', 'agenthub-builtin'), 'agenthub-builtin-builtin');
});

test.each(['agenthub', 'agents', 'tasks', 'documentation'])(
  'an entry called %s causes a warning',
  name => {
    assert.deepEqual(builtinNameWarnings([{ name }, { name: 'time' }]), [
      `${name}: the hub has a server of this name itself, which is called ${name}-builtin while this entry exists. Rename the entry to avoid confusion`,
    ]);
  },
);

test('a token in the file itself causes a warning; a variable and a digest do not', async () => {
  const digest = `sha256:${'a'.repeat(64)}`;
  const clients = { plain: { token: 'a-plain-token-of-a-client' }, digest: { token: digest } };
  const [warning = '', ...rest] = await warnings({ servers: {}, clients });
  assert.match(warning, /^clients\.plain\.token: the file contains the token itself\./);
  assert.ok(!warning.includes('a-plain-token'), warning);
  assert.deepEqual(rest, []);
});

test.each([
  ['http://models.example/v1', 'k', 1],
  ['https://models.example/v1', 'k', 0],
  ['http://127.0.0.1:8080/v1', 'k', 0],
  ['http://localhost:8080/v1', 'k', 0],
  ['http://[::1]:8080/v1', 'k', 0],
  ['http://models.example/v1', undefined, 0],
])('a provider at %s with the key %s causes %i warnings', async (url, key, count) => {
  const providers = { work: { url, ...(key !== undefined && { key }) } };
  const found = await warnings({ servers: {}, models: { providers } });
  assert.equal(found.length, count, found.join('\n'));
  if (count > 0)
    assert.equal(
      found[0],
      'models.providers.work.url: the key and all conversations are sent to http://models.example unencrypted. Use https://',
    );
});
