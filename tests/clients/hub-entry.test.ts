import assert from 'node:assert/strict';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'vitest';
import { type ClientName, type HubAddress, findBridge, hubEntry } from '#clients';
import { isHubEntry, isSameHub, pointsToHub } from '../../hub/clients/hub-entry.ts';
import { hub, openScratch } from './machine.ts';

const token = 'planted-token-0123456789';
const url = 'http://localhost:9090/mcp';
const named = { headers: { Authorization: 'Bearer ${env:ROUTER_TOKEN}' } };
const plain = { headers: { Authorization: 'Bearer ${ROUTER_TOKEN}' } };

const table: readonly (readonly [ClientName, object, object])[] = [
  ['claude-code', { type: 'http', url }, plain],
  [
    'claude-desktop',
    {
      command: '/opt/node/bin/node',
      args: ['/opt/agenthub/bin/agenthub.mjs', 'connect-stdio', '--url', 'http://localhost:9090'],
    },
    { env: { ROUTER_TOKEN: token } },
  ],
  ['vscode', { type: 'http', url }, named],
  ['cursor', { url }, named],
  ['windsurf', { serverUrl: url }, named],
  ['codex', { url }, { bearer_token_env_var: 'ROUTER_TOKEN' }],
  ['gemini-cli', { httpUrl: url }, plain],
  ['qwen-code', { httpUrl: url }, plain],
  ['copilot-cli', { type: 'http', url, tools: ['*'] }, plain],
  [
    'opencode',
    { type: 'remote', url, enabled: true },
    { headers: { Authorization: 'Bearer {env:ROUTER_TOKEN}' } },
  ],
  ['raycast', { type: 'http', url }, {}],
];

test.for(table)(
  'the entry for %s has the hub, and the token if there is one',
  ([client, entry, more]) => {
    assert.deepEqual(hubEntry(client, hub), entry);
    assert.deepEqual(hubEntry(client, { ...hub, token }), { ...entry, ...more });
  },
);

test('a token that the hub made is in the entry itself, as no variable has it', () => {
  const Authorization = `Bearer ${token}`;
  for (const [client, entry, more] of table) {
    const kept: Readonly<Record<string, object>> = {
      'claude-desktop': more,
      codex: { http_headers: { Authorization } },
      raycast: {},
    };
    const made = hubEntry(client, { ...hub, token, isTokenMade: true });
    assert.deepEqual(made, { ...entry, ...(kept[client] ?? { headers: { Authorization } }) });
  }
});

test('one server of the hub has an address of its own', () => {
  const one: HubAddress = { ...hub, url: 'https://hub.example/base/', server: 'a b' };
  assert.deepEqual(hubEntry('cursor', one), { url: 'https://hub.example/base/mcp/a%20b' });
  const { args } = hubEntry('claude-desktop', { ...hub, server: 'notes' });
  assert.deepEqual(Array.isArray(args) && args.slice(-2), ['--server', 'notes']);
});

describe('clients that start the bridge', () => {
  const node = '/opt/node';

  async function program(path: string, manifest?: object) {
    const scratch = await openScratch();
    const script = await scratch.put(path, '');
    if (manifest) {
      const root = path.slice(0, path.indexOf('node_modules'));
      await scratch.put(join(root, 'package.json'), JSON.stringify(manifest));
    }
    return { scratch, script };
  }

  test('get absolute paths, with links resolved', async () => {
    const { scratch, script } = await program('app/bin/agenthub.mjs');
    await using _ = scratch;
    const link = join(scratch.home, 'node_modules/.bin/agenthub');
    await mkdir(dirname(link), { recursive: true });
    await symlink(script, link);
    const bridge = await findBridge({ node, script: link, platform: 'linux' });
    assert.deepEqual(bridge, { command: node, args: [script] });
  });

  const cached = 'npm/_npx/0a1b/node_modules/agenthub/bin/agenthub.mjs';

  test.for([
    ['linux', { command: 'npx', args: ['-y', 'agenthub@1.2.3'] }],
    ['win32', { command: 'cmd', args: ['/c', 'npx', '-y', 'agenthub@1.2.3'] }],
  ] as const)(
    'run npx again if npx has the program in its cache (%s)',
    async ([platform, bridge]) => {
      const { scratch, script } = await program(cached, { _npx: { packages: ['agenthub@1.2.3'] } });
      await using _ = scratch;
      assert.deepEqual(await findBridge({ node, script, platform }), bridge);
    },
  );

  test.for([
    ['a folder', { _npx: { packages: ['/home/me/agenthub.tgz'] } }],
    ['another package', { _npx: { packages: ['agenthub@npm:stranger', 'agenthubs'] } }],
    ['nothing', {}],
  ] as const)('run the cached script if npx had the program from %s', async ([, manifest]) => {
    const { scratch, script } = await program(cached, manifest);
    await using _ = scratch;
    const bridge = await findBridge({ node, script, platform: 'linux' });
    assert.deepEqual(bridge, { command: node, args: [script] });
  });

  test('get paths if the manifest of npx cannot be parsed', async () => {
    const { scratch, script } = await program(cached);
    await using _ = scratch;
    await writeFile(join(scratch.home, 'npm/_npx/0a1b/package.json'), '{');
    const bridge = await findBridge({ node, script, platform: 'linux' });
    assert.deepEqual(bridge, { command: node, args: [script] });
  });
});

let home = '';
beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'agenthub-bridge-')));
});
afterEach(async () => await rm(home, { recursive: true }));

async function scriptAt(...parts: readonly string[]): Promise<string> {
  const script = join(home, ...parts);
  await mkdir(dirname(script), { recursive: true });
  await writeFile(script, '');
  return script;
}

/** Creates a script in the cache of npx, with the manifest of the packages that a user requested. */
async function inCache(manifest: string): Promise<string> {
  const script = await scriptAt('_npx', 'abc', 'node_modules', 'agenthub', 'bin', 'agenthub.mjs');
  await writeFile(join(home, '_npx', 'abc', 'package.json'), manifest);
  return script;
}

const specs = (...packages: readonly string[]) => JSON.stringify({ _npx: { packages } });
const bridgeOf = (script: string, platform = 'linux') =>
  findBridge({ node: '/usr/bin/node', script, platform });

test('an installed program is started by its absolute path', async () => {
  const script = await scriptAt('agenthub', 'bin', 'agenthub.mjs');
  assert.deepEqual(await bridgeOf(script), { command: '/usr/bin/node', args: [script] });
});

test.each(['agenthub', 'agenthub@1.2.3', 'agenthub@latest'])(
  'a program that npx runs as %s is started by npx again',
  async spec => {
    const script = await inCache(specs('other', spec));
    assert.deepEqual(await bridgeOf(script), { command: 'npx', args: ['-y', spec] });
    assert.deepEqual(await bridgeOf(script, 'win32'), {
      command: 'cmd',
      args: ['/c', 'npx', '-y', spec],
    });
  },
);

test.each([
  ['a folder', specs('/work/agenthub')],
  ['an archive', specs('agenthub@file:agenthub.tgz')],
  ['another package', specs('agenthub-other@1')],
  ['nothing', '{}'],
  ['what is not JSON', '{'],
])('a program that npx runs from %s is started by its path', async (_, manifest) => {
  const script = await inCache(manifest);
  assert.deepEqual(await bridgeOf(script), { command: '/usr/bin/node', args: [script] });
});

test('a profile is in the address, or in an option of the bridge', () => {
  const viewed: HubAddress = { ...hub, server: '@work' };
  assert.deepEqual(hubEntry('cursor', viewed), { url: `${url}/@work` });
  const bridge = hubEntry('claude-desktop', viewed);
  assert.deepEqual(Array.isArray(bridge['args']) && bridge['args'].slice(-2), [
    '--profile',
    'work',
  ]);
  for (const entry of [hubEntry('cursor', viewed), bridge]) {
    assert.ok(isSameHub(entry, viewed));
    assert.ok(!isSameHub(entry, hub));
    assert.ok(!isSameHub(entry, { ...hub, server: 'work' }));
  }
});

test.for([
  [['--url', 'http://127.0.0.1:9090/'], true],
  [['--url=http://localhost:9090'], true],
  [[], true],
  [['--url', 'https://hub.example:9090'], false],
  [['--url=https://hub.example'], false],
  [['--url', 'http://localhost:9091'], false],
] as const)('whether a bridge with the options %j is one to this hub: %j', ([options, is]) => {
  const entry = {
    command: 'npx',
    args: ['-y', 'agenthub', 'connect-stdio', ...options],
    env: { ROUTER_TOKEN: token },
  };
  assert.equal(pointsToHub(entry, hub), is);
  assert.equal(isSameHub(entry, hub), is);
  assert.ok(isHubEntry('work', entry));
});

test('a bridge to one server is another endpoint, also with "=" in the option', () => {
  const entry = { command: 'agenthub', args: ['connect-stdio', '--server=memory'] };
  assert.ok(isSameHub(entry, { ...hub, server: 'memory' }));
  assert.ok(!isSameHub(entry, hub));
});

test.for([
  ['work', { url: 'http://localhost:9091/mcp/@work' }, true],
  ['agenthub-work', { url: 'http://127.0.0.1:9091/mcp' }, true],
  ['agenthub-work', { command: 'npx', args: ['mcp-remote', 'http://localhost:9091/mcp'] }, true],
  ['work', { url: 'https://hub.example/mcp', ...named }, true],
  ['work', { url: 'https://hub.example/mcp', bearer_token_env_var: 'ROUTER_TOKEN' }, true],
  ['work', { command: '/usr/local/bin/ah', args: ['connect-stdio'] }, true],
  ['notes', { url: 'http://localhost:9091/mcp' }, false],
  ['agenthub-notes', { url: 'https://notes.example/mcp' }, false],
  ['notes', { url: 'https://x/mcp', headers: { A: '${OPENROUTER_TOKEN}' } }, false],
  ['router', { command: 'npx', args: ['r'], env: { ROUTER_TOKEN: 'x' } }, false],
] as const)('whether the entry %s with %j is one of a hub: %j', ([name, entry, is]) => {
  assert.equal(isHubEntry(name, entry), is);
});
