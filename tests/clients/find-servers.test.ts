import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'vitest';
import { HubError } from '#core';
import { everything, openScratch } from './machine.ts';

const key = 'sk-planted0123456789';
const text = JSON.stringify({ mcpServers: { one: { command: 'a' } } });
const workspaces = { ...everything, scopes: ['workspace'] } as const;

test('a file that cannot be parsed is reported, and the others are read', async () => {
  await using scratch = await openScratch();
  await scratch.put('.cursor/mcp.json', `{"mcpServers": {"a": "${key}`);
  await scratch.put('.codex/config.toml', '[mcp_servers.memory]\n[mcp_servers.search]\n');
  const { servers, files, problems } = await scratch.clients.find(everything);
  assert.deepEqual(
    servers.map(({ name }) => name),
    ['memory', 'search'],
  );
  assert.deepEqual(files, [join(scratch.home, '.codex/config.toml')]);
  assert.equal(problems.length, 1);
  assert.match(problems[0]?.message ?? '', /mcp\.json:1:\d+: not valid JSON/);
  assert.doesNotMatch(problems[0]?.message ?? '', /planted/);
});

test('of the files of a project only the named ones are read, and the others are reported', async () => {
  await using scratch = await openScratch();
  const named = await scratch.put('work/.mcp.json', text);
  const other = await scratch.put('work/.cursor/mcp.json', text);
  const { clients } = scratch;
  const unnamed = await clients.find(everything);
  assert.deepEqual([unnamed.files, unnamed.unread], [[], [named, other]]);
  const found = await clients.find({ ...everything, paths: ['.mcp.json'] });
  assert.deepEqual([found.files, found.unread], [[named], [other]]);
});

test('a file that is both named and one of a client is read once', async () => {
  await using scratch = await openScratch();
  const file = await scratch.put('work/.mcp.json', text);
  const found = await scratch.clients.find({ ...workspaces, paths: ['~/work/.mcp.json'] });
  assert.deepEqual([found.files, found.servers.length], [[file], 1]);
});

test('a named file must exist, others need not', async () => {
  await using scratch = await openScratch();
  const { files, problems } = await scratch.clients.find({ ...workspaces, paths: ['none.json'] });
  assert.deepEqual(files, []);
  assert.deepEqual(
    problems.map(({ code, message }) => [code, message]),
    [['HUB_USAGE', `${scratch.machine.folder}/none.json: there is no such file`]],
  );
});

test.for([
  ['.vscode/mcp.json', 'vscode', '{"servers": {"one": {}}}'],
  ['.cursor/mcp.json', 'cursor', '{"mcpServers": {"one": {}}}'],
  ['.codex/any', 'codex', '[mcp_servers.one]\n'],
  ['.gemini/settings.json', 'gemini-cli', '{"mcpServers": {"one": {}}}'],
  ['.qwen/settings.json', 'qwen-code', '{"mcpServers": {"one": {}}}'],
  ['opencode.jsonc', 'opencode', '{"mcp": {"one": {}}}'],
  ['here/opencode.json', 'opencode', '{"mcp": {"one": {}}}'],
  ['any.toml', 'codex', '[mcp_servers.one]\n'],
  ['any.json', 'claude-code', '{"mcpServers": {"one": {}}}'],
] as const)('the file %s is read as one of %s', async ([path, client, content]) => {
  await using scratch = await openScratch();
  await scratch.put(`work/${path}`, content);
  const { servers } = await scratch.clients.find({ names: [], scopes: [], paths: [path] });
  assert.deepEqual(
    servers.map(server => [server.client, server.name]),
    [[client, 'one']],
  );
});

test("a named file that is a client's own is read as such", async () => {
  await using scratch = await openScratch();
  await scratch.put('.config/Code/User/mcp.json', '{"servers": {"one": {}}}');
  const paths = ['~/.config/Code/User/mcp.json'];
  const { servers } = await scratch.clients.find({ names: [], scopes: [], paths });
  assert.deepEqual(
    servers.map(({ client, scope, name }) => [client, scope, name]),
    [['vscode', 'user', 'one']],
  );
});

test('only the files of the named clients are read', async () => {
  await using scratch = await openScratch();
  await scratch.put('.cursor/mcp.json', text);
  await scratch.put('.claude.json', text);
  const { servers } = await scratch.clients.find({ ...everything, names: ['cursor'] });
  assert.deepEqual(
    servers.map(({ client }) => client),
    ['cursor'],
  );
});

test('at most 500 servers are imported at once', async () => {
  await using scratch = await openScratch();
  const many = (count: number) =>
    JSON.stringify({
      mcpServers: Object.fromEntries(Array.from({ length: count }, (_, at) => [`s${at}`, {}])),
    });
  await scratch.put('.cursor/mcp.json', many(500));
  assert.equal((await scratch.clients.find(everything)).servers.length, 500);
  await scratch.put('.cursor/mcp.json', many(501));
  await assert.rejects(
    scratch.clients.find(everything),
    (error: unknown) => error instanceof HubError && /name 501 servers/.test(error.message),
  );
});
