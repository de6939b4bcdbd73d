import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { ClientName } from '#clients';
import { openScratch } from './machine.ts';

const key = 'sk-planted0123456789';
const own = 'http://localhost:9090';

/** Imports one server from the user's file of a client. */
async function imported(
  client: ClientName,
  entry: object,
  env: Readonly<Record<string, string>> = {},
) {
  await using scratch = await openScratch(env);
  const groups: Readonly<Partial<Record<ClientName, string>>> = {
    vscode: 'servers',
    opencode: 'mcp',
  };
  const json = JSON.stringify({ [groups[client] ?? 'mcpServers']: { it: entry } });
  const toml = Object.entries(entry).map(([name, value]) => `${name} = ${inline(value)}\n`);
  const files: Readonly<Partial<Record<ClientName, string>>> = {
    'claude-code': '.claude.json',
    'claude-desktop': '.config/Claude/claude_desktop_config.json',
    vscode: '.config/Code/User/mcp.json',
    cursor: '.cursor/mcp.json',
    windsurf: '.codeium/windsurf/mcp_config.json',
    codex: '.codex/config.toml',
    'gemini-cli': '.gemini/settings.json',
    'qwen-code': '.qwen/settings.json',
    'copilot-cli': '.copilot/mcp-config.json',
    opencode: '.config/opencode/opencode.json',
  };
  await scratch.put(
    files[client] ?? assert.fail('it has no file'),
    client === 'codex' ? `[mcp_servers.it]\n${toml.join('')}` : json,
  );
  const config = await scratch.put('hub.json', '{"servers": {}}');
  const found = await scratch.clients.find({ names: [client], scopes: ['user'], paths: [] });
  const plan = await scratch.clients.planImport(
    found,
    { config, dotenv: `${scratch.home}/.env` },
    { url: own },
  );
  const [item = assert.fail('nothing was found')] = plan.items;
  const text = (value: unknown) => JSON.stringify(value).replaceAll(scratch.home, '/home/me');
  return {
    action: item.action,
    why: item.action === 'skip' ? item.why : '',
    hints: item.action === 'add' ? item.hints.join('\n') : '',
    entry: item.action === 'add' ? JSON.parse(text(item.entry)) : undefined,
    variables: plan.variables,
  };
}

/** Formats a value as TOML in one line. */
function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{ ${Object.entries(value)
    .map(([name, inside]) => `${name} = ${inline(inside)}`)
    .join(', ')} }`;
}

const lines: readonly (readonly [ClientName, object, object])[] = [
  [
    'cursor',
    { command: 'npx', args: ['-y', '@a/b@1.0.0', 'x'] },
    { command: 'npx', args: ['-y', '@a/b@1.0.0', 'x'] },
  ],
  ['cursor', { command: '/usr/local/bin/npx', args: ['a'] }, { command: 'npx', args: ['a'] }],
  [
    'claude-desktop',
    {
      command: 'C:\\Windows\\System32\\cmd.exe',
      args: ['/C', 'C:\\npm\\npx.cmd', '-y', 'a@1.0.0'],
    },
    { command: 'npx', args: ['-y', 'a@1.0.0'] },
  ],
  ['cursor', { command: 'bunx', args: ['a@1.0.0'] }, { command: 'npx', args: ['-y', 'a@1.0.0'] }],
  [
    'cursor',
    { command: 'pnpm', args: ['dlx', 'a@1.0.0'] },
    { command: 'npx', args: ['-y', 'a@1.0.0'] },
  ],
  ['cursor', { command: 'npm', args: ['exec', '--', 'a'] }, { command: 'npx', args: ['-y', 'a'] }],
  ['cursor', { command: '/opt/uv', args: ['tool', 'run', 'a'] }, { command: 'uvx', args: ['a'] }],
  [
    'vscode',
    { type: 'stdio', command: 'uvx', args: ['a==1.0'] },
    { command: 'uvx', args: ['a==1.0'] },
  ],
  [
    'cursor',
    {
      command: 'docker',
      args: [
        'run',
        '-i',
        '--rm',
        '-e',
        'LEVEL',
        '-eMODE=x',
        '-v',
        '/srv:/data:ro',
        '--mount',
        'type=bind,src=/a,dst=/b',
        '-v',
        'kept:/k',
        '--network=host',
        '-u',
        '5:5',
        'ghcr.io/a/b:1',
        'stdio',
      ],
      env: { LEVEL: '1', UNUSED: '2' },
    },
    {
      image: 'ghcr.io/a/b:1',
      args: ['stdio'],
      env: { MODE: 'x', LEVEL: '1' },
      mounts: ['/srv:/data:ro', '/a:/b:rw'],
      volumes: { kept: '/k' },
      network: 'bridge',
      user: '5:5',
    },
  ],
  [
    'cursor',
    { command: 'podman', args: ['run', '-it', '--entrypoint', 'x', '-e', 'A', 'b'] },
    { image: 'b', command: 'x', env: { A: '${A:-}' } },
  ],
  [
    'gemini-cli',
    { command: 'npx', args: ['a'], timeout: 30_000, trust: true, includeTools: ['x'] },
    { command: 'npx', args: ['a'], timeout: 30, tools: { allow: ['x'] } },
  ],
  [
    'qwen-code',
    { httpUrl: 'https://x/mcp', excludeTools: ['y'] },
    { url: 'https://x/mcp', tools: { deny: ['y'] } },
  ],
  [
    'copilot-cli',
    { type: 'local', command: 'uvx', args: ['a'], tools: ['*'] },
    { command: 'uvx', args: ['a'] },
  ],
  [
    'opencode',
    { type: 'local', command: ['npx', '-y', 'a'], environment: { LEVEL: '1' }, enabled: true },
    { command: 'npx', args: ['-y', 'a'], env: { LEVEL: '1' } },
  ],
  ['opencode', { type: 'remote', url: 'https://x/mcp' }, { url: 'https://x/mcp' }],
  ['claude-code', { type: 'http', url: 'https://x/mcp' }, { url: 'https://x/mcp' }],
  [
    'windsurf',
    { serverUrl: 'https://x/sse', type: 'sse' },
    { url: 'https://x/sse', transport: 'sse' },
  ],
  [
    'codex',
    { url: 'https://x/mcp', http_headers: { 'X-A': 'b' } },
    { url: 'https://x/mcp', headers: { 'X-A': 'b' } },
  ],
  [
    'codex',
    { url: 'https://x', bearer_token_env_var: 'T', env_http_headers: { 'X-A': 'B' } },
    { url: 'https://x', headers: { 'X-A': '${B}', Authorization: 'Bearer ${T}' } },
  ],
  [
    'codex',
    { command: 'npx', args: ['a'], env_vars: ['A'], enabled: false },
    { command: 'npx', args: ['a'], env: { A: '${A:-}' }, disabled: true },
  ],
  [
    'codex',
    { command: 'npx', args: ['a'], enabled_tools: ['x', 'y'], disabled_tools: ['y'] },
    { command: 'npx', args: ['a'], tools: { allow: ['x', 'y'], deny: ['y'] } },
  ],
  [
    'codex',
    { command: 'npx', args: ['a'], tool_timeout_sec: 300, timeout: 1 },
    { command: 'npx', args: ['a'], timeout: 300 },
  ],
  [
    'claude-code',
    { type: 'http', url: 'https://x/mcp', timeout: 600_500 },
    { url: 'https://x/mcp', timeout: 601 },
  ],
  [
    'claude-code',
    { command: 'npx', args: ['a'], timeout: 100_000_000 },
    { command: 'npx', args: ['a'], timeout: 86_400 },
  ],
  [
    'windsurf',
    { serverUrl: 'https://x/mcp', disabledTools: ['x', 7] },
    { url: 'https://x/mcp', tools: { deny: ['x'] } },
  ],
  [
    'windsurf',
    {
      command: 'npx',
      args: ['mcp-remote', 'https://x', '--ignore-tool', 'y'],
      disabledTools: ['x'],
    },
    { url: 'https://x', tools: { deny: ['x', 'y'] } },
  ],
  [
    'windsurf',
    { command: 'docker', args: ['run', 'b'], disabledTools: ['x'] },
    { image: 'b', tools: { deny: ['x'] } },
  ],
  [
    'cursor',
    { command: 'npx', args: ['a'], disabled: true, alwaysAllow: ['x'] },
    { command: 'npx', args: ['a'], disabled: true },
  ],
  [
    'cursor',
    { command: 'npx', args: ['a'], env: { PATH: '/x', HOME: '/y', PORT: 1 }, cwd: '/x' },
    { command: 'npx', args: ['a'], env: { PORT: '1' } },
  ],
];

test.for(lines)('%s: %j becomes %j', async ([client, entry, expected]) => {
  const { action, entry: made, why } = await imported(client, entry, { B: 'b', T: 't' });
  assert.equal(action, 'add', why);
  assert.deepEqual(made, { ...expected, auto_start: true });
});

const logins: readonly (readonly [ClientName, object, object])[] = [
  ['vscode', { oauth: { clientId: 'me' } }, { client_id: 'me' }],
  ['copilot-cli', { oauthClientId: 'me', oauthScopes: ['a'] }, { client_id: 'me', scopes: ['a'] }],
  [
    'claude-code',
    { oauth: { clientId: 'me', clientSecret: 'x y', scope: 'a' } },
    { client_id: 'me', scopes: ['a'], client_secret: '${MCP_IT_CLIENT_SECRET}' },
  ],
  [
    'claude-code',
    { oauth: { clientId: 'me', callbackPort: 8080, scopes: 'a b' } },
    { client_id: 'me', scopes: ['a', 'b'] },
  ],
  [
    'cursor',
    { auth: { CLIENT_ID: '${env:B}', CLIENT_SECRET: 'x y', scopes: ['a'] } },
    { client_id: '${B}', scopes: ['a'], client_secret: '${MCP_IT_CLIENT_SECRET}' },
  ],
  ['codex', { oauth: { client_id: 'me' }, scopes: ['a'] }, { client_id: 'me', scopes: ['a'] }],
  [
    'codex',
    { oauth: { client_id: 'me', client_secret: 'x y' } },
    { client_id: 'me', client_secret: '${MCP_IT_CLIENT_SECRET}' },
  ],
];

test.for(logins)('%s: the OAuth client %j becomes %j', async ([client, login, oauth]) => {
  const made = await imported(client, { url: 'https://x.example/mcp', ...login }, { B: 'b' });
  const expected = { url: 'https://x.example/mcp', oauth, auto_start: true };
  assert.deepEqual(made.entry, expected, made.why);
  assert.match(
    made.hints,
    /redirect address, http:\/\/127\.0\.0\.1:9090\/dashboard\/oauth\/callback/,
  );
});

test('an entry that only says that it logs in has no OAuth client', async () => {
  const made = await imported('cursor', { url: 'https://x.example/mcp', auth: {} });
  assert.deepEqual(made.entry, { url: 'https://x.example/mcp', auto_start: true }, made.why);
  assert.equal(made.hints, '');
});

const variables: readonly (readonly [ClientName, string, string])[] = [
  ['claude-code', '${SET} ${UNSET:-x}', '${SET} ${UNSET:-x}'],
  ['claude-code', '$$ $SET ${1} ${env:SET}', '$$$ $SET $${1} $${env:SET}'],
  ['claude-desktop', '${SET} $$', '$${SET} $$$'],
  ['codex', '${SET}', '$${SET}'],
  ['cursor', '${env:SET}/${userHome}', '${SET}//home/me'],
  ['vscode', '${workspaceFolder}/x', '/home/me/work/x'],
  ['vscode', '${workspaceFolderBasename}', 'work'],
  ['cursor', 'a${/}b${pathSeparator}c', 'a/b/c'],
  ['windsurf', '${SET}', '${SET}'],
  ['gemini-cli', '$SET-${SET}-${SET:-x}', '${SET}-${SET}-${SET:-x}'],
  ['copilot-cli', 'a$SET $1 $', 'a${SET} $1 $'],
  ['opencode', '$ {env:SET} ${SET}', '$ ${SET} $${SET}'],
];

test.for(variables)('%s: the hub gets the text %j as %j', async ([client, written, text]) => {
  const made = await imported(client, { command: 'npx', args: ['a', written] }, { SET: 'set' });
  assert.deepEqual(made.entry.args, ['a', text]);
});

const secrets: readonly (readonly [object, object, string])[] = [
  [{ env: { API_KEY: 'x y' } }, { env: { API_KEY: '${MCP_IT_API_KEY}' } }, 'MCP_IT_API_KEY=x y'],
  [{ env: { IT_TOKEN: 'x' } }, { env: { IT_TOKEN: '${MCP_IT_TOKEN}' } }, 'MCP_IT_TOKEN=x'],
  [{ env: { PLAIN: key } }, { env: { PLAIN: '${MCP_IT_PLAIN}' } }, `MCP_IT_PLAIN=${key}`],
  [
    { args: ['a', '--api-key', 'x'] },
    { args: ['a', '--api-key', '${MCP_IT_API_KEY}'] },
    'MCP_IT_API_KEY=x',
  ],
  [{ args: ['a', '--token=x'] }, { args: ['a', '--token=${MCP_IT_TOKEN}'] }, 'MCP_IT_TOKEN=x'],
  [{ args: ['a', key] }, { args: ['a', '${MCP_IT_ARGUMENT}'] }, `MCP_IT_ARGUMENT=${key}`],
];

test.for(secrets)('a key in %j is moved to a variable', async ([entry, expected, variable]) => {
  const made = await imported('cursor', { command: 'npx', args: ['a'], ...entry });
  assert.deepEqual(made.entry, {
    command: 'npx',
    args: ['a'],
    ...expected,
    auto_start: true,
    network: 'bridge',
  });
  assert.deepEqual(
    made.variables.map(({ name, value }) => `${name}=${value}`),
    [variable],
  );
});

test('keys in headers and addresses are moved to variables', async () => {
  const url = `https://x/mcp?api_key=${key}`;
  const headers = { Authorization: 'Bearer abc', Accept: 'x' };
  const { entry, variables: moved } = await imported('cursor', { url, headers });
  assert.deepEqual(entry, {
    url: '${MCP_IT_URL}',
    headers: { Authorization: '${MCP_IT_AUTHORIZATION}', Accept: 'x' },
    auto_start: true,
  });
  assert.deepEqual(moved.map(({ value }) => value).sort(), ['Bearer abc', url]);
});

test.for([
  'https://mcp.example.com/mcp?key=SECRET',
  'https://mcp.example.com/mcp?profile=me&k=SECRET',
  'https://mcp.example.com/s/Zm9vYmFyMTIzNDU2Nzg5MA/mcp',
  'https://mcp.example.com/0b9f2f7e-3c0b-4c8e-9a51-2d7e5f1c6a10/sse',
])('an address that may contain a key is moved to a variable: %s', async url => {
  const remote = await imported('cursor', { url });
  const sse = url.endsWith('/sse') && { transport: 'sse' };
  assert.deepEqual(remote.entry, { url: '${MCP_IT_URL}', ...sse, auto_start: true });
  assert.deepEqual(remote.variables, [{ name: 'MCP_IT_URL', value: url }]);
  const bridged = await imported('cursor', { command: 'npx', args: ['mcp-remote', url] });
  assert.deepEqual(bridged.entry, remote.entry);
  const local = await imported('cursor', { command: 'npx', args: ['a', url] });
  assert.deepEqual(local.entry.args, ['a', '${MCP_IT_ARGUMENT}']);
});

test.for([
  'https://mcp.example.com/v2/streamable-http',
  'https://host-1234567890abcdefghij.example/mcp',
])('an address without a key stays in the config: %s', async url => {
  assert.deepEqual((await imported('cursor', { url })).entry, { url, auto_start: true });
});

test('a key that a variable already has is not written again, and another value gets another name', async () => {
  const entry = { command: 'npx', args: ['a'], env: { API_KEY: 'x' } };
  const same = await imported('cursor', entry, { MCP_IT_API_KEY: 'x' });
  assert.deepEqual([same.entry.env, same.variables], [{ API_KEY: '${MCP_IT_API_KEY}' }, []]);
  const other = await imported('cursor', entry, { MCP_IT_API_KEY: 'y' });
  assert.deepEqual(other.entry.env, { API_KEY: '${MCP_IT_API_KEY_2}' });
});

const refused: readonly (readonly [ClientName, object, RegExp])[] = [
  ['cursor', { url: `${own}/mcp` }, /^it is this hub$/],
  ['cursor', { url: 'http://127.0.0.1:9090/sse/notes' }, /^it is this hub$/],
  ['claude-desktop', { command: 'npx', args: ['mcp-remote', `${own}/mcp`] }, /^it is this hub$/],
  [
    'claude-desktop',
    { command: 'npx', args: ['-y', 'agenthub', 'connect-stdio'] },
    /^it is this hub$/,
  ],
  [
    'claude-desktop',
    { command: 'agenthub', args: ['connect-stdio', '--url', own] },
    /^it is this hub$/,
  ],
  [
    'claude-desktop',
    { command: 'agenthub', args: ['connect-stdio', '--url', 'https://hub.example'] },
    /^it is another hub\. .*agenthub add URL$/,
  ],
  [
    'cursor',
    { url: 'http://localhost:9091/mcp/@work' },
    /^it is another hub\. .*agenthub add URL$/,
  ],
  [
    'claude-code',
    { url: 'https://x', oauth: { clientId: 'x', authServerMetadataUrl: 'https://y' } },
    /asks the server itself where to log in: remove "authServerMetadataUrl" there/,
  ],
  [
    'windsurf',
    { serverUrl: 'https://x', headers: { Authorization: 'Bearer ${file:~/token}' } },
    /^\$\{file:~\/token\} is the content of a file, which an import does not read: write the content there first\. A key in it becomes a secret$/,
  ],
  [
    'claude-code',
    { url: 'https://x', headersHelper: '/opt/headers.sh' },
    /a program of the client generates its headers/,
  ],
  ['claude-code', { type: 'ws', url: 'wss://x' }, /does not speak "ws"/],
  ['vscode', { command: 'npx', args: ['a'], envFile: '.env' }, /"envFile"/],
  [
    'vscode',
    { command: 'npx', args: ['a', '${input:key}'] },
    /\$\{input:key\} is known to the client only/,
  ],
  ['cursor', { command: 'npx', args: ['a', '${env:UNSET}'] }, /the variable UNSET is not set/],
  [
    'cursor',
    { command: 'python3', args: ['x.py'] },
    /runs "x\.py", which is not there on this machine/,
  ],
  [
    'cursor',
    { command: 'docker', args: ['run', '--privileged', 'x'] },
    /all options of its "docker" command/,
  ],
  [
    'cursor',
    { command: 'docker', args: ['run', '-v', '/var/run/docker.sock:/s', 'x'] },
    /the engine's socket/,
  ],
  ['cursor', { command: 'npx', args: 'x' }, /"args" is not a list/],
  ['cursor', {}, /neither "command" nor "url"/],
];

test.for(refused)(
  '%s: %j is left in its file, with the reason',
  async ([client, entry, reason]) => {
    const { action, why, variables: moved } = await imported(client, entry);
    assert.equal(action, 'skip');
    assert.match(why, reason);
    assert.deepEqual(moved, []);
  },
);

const bridges: readonly (readonly [readonly string[], object, object])[] = [
  [['https://x.example/mcp'], {}, { url: 'https://x.example/mcp' }],
  [
    ['https://x.example/sse', '3334', '--debug', '--allow-http'],
    {},
    { url: 'https://x.example/sse', transport: 'sse' },
  ],
  [['https://x.example/sse', '--transport', 'http-only'], {}, { url: 'https://x.example/sse' }],
  [
    ['https://x.example/m', '--transport', 'sse-only', '--header', 'X-A:b'],
    {},
    { url: 'https://x.example/m', transport: 'sse', headers: { 'X-A': 'b' } },
  ],
  [
    ['https://x.example/m', '--header', 'Authorization:${AUTH}', '--header', 'X-B: ${SET}'],
    { AUTH: 'Bearer abc' },
    {
      url: 'https://x.example/m',
      headers: { Authorization: '${MCP_IT_AUTHORIZATION}', 'X-B': '${SET}' },
    },
  ],
  [
    [
      'https://x.example/m',
      '--static-oauth-client-info',
      '{"client_id": "me", "client_secret": "s"}',
      '--static-oauth-client-metadata',
      '{"scope": "a b"}',
      '--ignore-tool',
      'rm*',
    ],
    {},
    {
      url: 'https://x.example/m',
      oauth: { client_id: 'me', scopes: ['a', 'b'], client_secret: '${MCP_IT_CLIENT_SECRET}' },
      tools: { deny: ['rm*'] },
    },
  ],
];

test.for(bridges)('mcp-remote %j becomes a remote server', async ([args, env, expected]) => {
  const line = { command: 'npx', args: ['-y', 'mcp-remote@latest', ...args], env };
  const { entry, why } = await imported('claude-desktop', line, { SET: 'x' });
  assert.deepEqual(entry, { ...expected, auto_start: true }, why);
});

test('an option of mcp-remote that the hub does not know leaves the server in its file', async () => {
  const args = ['mcp-remote', 'https://x.example/m', '--new', '1'];
  const { why } = await imported('claude-desktop', { command: 'npx', args });
  assert.match(why, /the option "--new" of mcp-remote has no equivalent/);
});
