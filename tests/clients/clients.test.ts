import assert from 'node:assert/strict';
import { chmod, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { test } from 'vitest';
import { loadConfig } from '#config';
import { HubError } from '#core';
import { type Scratch, openScratch, planOf } from './machine.ts';

const key = 'sk-planted0123456789';
const cursorText = `{
  // mine
  "mcpServers": {
    "memory": {"command": "npx", "args": ["-y", "@a/memory@1.0.0"]}, // tail
    "local": {"command": "python3", "args": ["x.py"]},
    "mail box!": {"command": "npx", "args": ["@a/mail@1.0.0"], "env": {"TOKEN": "${key}", "B": "it's \\"\`"}},
    "agenthub": {"url": "http://localhost:9090/mcp"},
  },
}
`;
const codexText = `model = "o4"

# the same as in the other
[mcp_servers.memory]
command = "npx"
args = ["-y", "@a/memory@1.0.0"]

[mcp_servers.search]
url = "https://search.example/mcp"
http_headers = { Authorization = "Bearer ${key}" }

[tui]
theme = "dark"
`;
const hubText = `{
  // the hub's
  "servers": {
    "memory": {"package": "@b/other@2.0.0"}, // another one
  },
}
`;

async function prepare(scratch: Scratch) {
  await scratch.put('.cursor/mcp.json', cursorText);
  await scratch.put('.codex/config.toml', codexText);
  const config = await scratch.put('hub.json', hubText);
  return { config, dotenv: join(scratch.home, 'hub.env') };
}

test('servers of all files become entries that the hub accepts, and the rest of its config is unchanged', async () => {
  await using scratch = await openScratch();
  const files = await prepare(scratch);
  const before = await scratch.files();
  const plan = await planOf(scratch, files);
  assert.deepEqual(await scratch.files(), before);
  assert.deepEqual(
    plan.items.map(item => [
      item.found.client,
      item.found.name,
      item.action,
      item.action === 'skip' ? '' : item.name,
    ]),
    [
      ['cursor', 'memory', 'add', 'memory-2'],
      ['cursor', 'local', 'skip', ''],
      ['cursor', 'mail box!', 'add', 'mail-box'],
      ['cursor', 'agenthub', 'skip', ''],
      ['codex', 'memory', 'present', 'memory-2'],
      ['codex', 'search', 'add', 'search'],
    ],
  );

  const { added } = await scratch.clients.carryOutImport(plan, files);
  assert.deepEqual(added, ['memory-2', 'mail-box', 'search']);
  const text = await readFile(files.config, 'utf8');
  assert.doesNotMatch(text, /planted/);
  assert.ok(text.startsWith(hubText.slice(0, hubText.indexOf('  },\n}'))));
  const env = parseEnv(await readFile(files.dotenv, 'utf8'));
  assert.deepEqual(
    { ...env },
    { MCP_MAIL_BOX_TOKEN: key, MCP_SEARCH_AUTHORIZATION: `Bearer ${key}` },
  );
  assert.equal((await stat(files.dotenv)).mode & 0o777, 0o600);
  const { servers } = await loadConfig(files.config, { env, home: scratch.home });
  const mail = servers.find(({ name }) => name === 'mail-box');
  assert.ok(mail?.launch.kind === 'local');
  assert.deepEqual(mail.launch.env, { TOKEN: key, B: 'it\'s "`' });
  assert.equal(mail.launch.sandbox.network, 'bridge');
  const after = await scratch.files();
  assert.equal(after['.cursor/mcp.json'], cursorText);
  assert.equal(after['.codex/config.toml'], codexText);
});

test('imported servers are not imported a second time', async () => {
  const env: Record<string, string> = {};
  await using scratch = await openScratch(env);
  const files = await prepare(scratch);
  await scratch.clients.carryOutImport(await planOf(scratch, files), files);
  const text = await readFile(files.config, 'utf8');
  Object.assign(env, parseEnv(await readFile(files.dotenv, 'utf8')));
  const again = await planOf(scratch, files);
  assert.deepEqual(again.variables, []);
  assert.ok(again.items.every(({ action }) => action !== 'add'));
  await scratch.clients.carryOutImport(again, files);
  assert.equal(await readFile(files.config, 'utf8'), text);
});

test('imported servers are removed from the files of clients, of which backups are kept', async () => {
  await using scratch = await openScratch();
  const files = await prepare(scratch);
  const plan = await planOf(scratch, files);
  const done = await scratch.clients.carryOutImport(plan, files);
  const backups = await done.removeFromClients(
    plan.items.filter(({ action }) => action !== 'skip'),
  );
  const after = await scratch.files();
  assert.deepEqual(
    backups.map(path => path.slice(scratch.home.length + 1)),
    ['.cursor/mcp.json.agenthub-backup-1', '.codex/config.toml.agenthub-backup-1'],
  );
  assert.equal(after['.cursor/mcp.json.agenthub-backup-1'], cursorText);
  assert.equal(after['.codex/config.toml.agenthub-backup-1'], codexText);
  assert.equal(
    after['.cursor/mcp.json'],
    `{
  // mine
  "mcpServers": {
    "local": {"command": "python3", "args": ["x.py"]},
    "agenthub": {"url": "http://localhost:9090/mcp"},
  },
}
`,
  );
  assert.equal(
    after['.codex/config.toml'],
    'model = "o4"\n\n# the same as in the other\n\n[tui]\ntheme = "dark"\n',
  );
});

test('servers of Claude Code for all projects are found, and removed from its file', async () => {
  await using scratch = await openScratch();
  const { folder } = scratch.machine;
  const entry = { command: 'npx', args: ['@a/b@1.0.0'] };
  const projects = {
    [folder]: { mcpServers: { here: entry } },
    '/other': { mcpServers: { there: entry } },
  };
  const file = await scratch.put(
    '.claude.json',
    JSON.stringify({ projects, mcpServers: {} }, undefined, 2),
  );
  const files = {
    config: await scratch.put('hub.json', '{"servers": {}}'),
    dotenv: join(scratch.home, '.env'),
  };
  const plan = await planOf(scratch, files);
  const { added, removeFromClients } = await scratch.clients.carryOutImport(plan, files);
  assert.deepEqual(added, ['here']);
  await removeFromClients(plan.items);
  const after = JSON.parse(await readFile(file, 'utf8'));
  assert.deepEqual(after.projects[folder].mcpServers, {});
  assert.deepEqual(after.projects['/other'], { mcpServers: {} });
});

test('the lines of an existing .env are unchanged', async () => {
  await using scratch = await openScratch();
  const files = await prepare(scratch);
  const before = '# mine\r\nA=\'x\'\r\nB="two\r\nlines"';
  await scratch.put('hub.env', before);
  await chmod(files.dotenv, 0o640);
  await scratch.clients.carryOutImport(await planOf(scratch, files), files);
  const text = await readFile(files.dotenv, 'utf8');
  assert.ok(text.startsWith(`${before}\r\nMCP_MAIL_BOX_TOKEN=`));
  assert.equal((await stat(files.dotenv)).mode & 0o777, 0o640);
});

test('an undo that cannot remove the secrets is completed by the next undo, which undoes no earlier import', async () => {
  await using scratch = await openScratch();
  const files = await prepare(scratch);
  const { clients, secrets } = scratch;
  const plan = await planOf(scratch, files);
  const [first, ...others] = plan.items.filter(({ action }) => action === 'add');
  assert.ok(first);
  await clients.carryOutImport(clients.withoutUnusedKeys({ ...plan, items: [first] }), files);
  const before = await scratch.files();
  await clients.carryOutImport(await clients.toSecrets({ ...plan, items: others }), files);
  assert.equal(secrets.size, 2);
  secrets.delete = () => {
    throw new Error('the keychain is locked');
  };
  await assert.rejects(clients.undoImport(), /locked/);
  Reflect.deleteProperty(secrets, 'delete');
  const undone = await clients.undoImport();
  assert.deepEqual([undone?.added, secrets.size], [['mail-box', 'search'], 0]);
  assert.deepEqual(await scratch.files(), before);
});

test('an invalid config is refused before anything is written', async () => {
  await using scratch = await openScratch();
  const files = await prepare(scratch);
  await scratch.put('hub.json', '{"servers": {"a": {"comand": "x"}}}');
  const before = await scratch.files();
  await assert.rejects(planOf(scratch, files), HubError);
  assert.deepEqual(await scratch.files(), before);
});
