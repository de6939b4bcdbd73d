import assert from 'node:assert/strict';
import { afterAll, beforeAll, test } from 'vitest';
import type { ToolLists } from '#config';
import { type TestHub, startHub } from '#helpers/hub';
import { fieldOf, jsonOf, openOther } from '../hub.ts';
import { run } from '../run.ts';

const tools = { path: 'servers.files.tools', deny: ['search'] };
let hub: TestHub;
let written: (readonly [string, ToolLists])[] = [];
beforeAll(async () => {
  hub = await startHub([{ name: 'files', tools }, { name: 'echo' }], {
    changeTools: async (name, next) =>
      void written.push([name, next(hub.server(name).config.tools)]),
  });
});
afterAll(() => hub?.[Symbol.asyncDispose]());

const cli = (...args: readonly string[]) =>
  run(args, { findHub: async url => ({ ...hub.place, url: url ?? hub.url }) });

test('the tools of a server are listed with state and cost', async () => {
  const { out, code } = await cli('tools', 'files');
  assert.equal(code, 0);
  const [head = '', read = '', , , search = '', sum] = out.split('\n');
  assert.match(head, /^TOOL +SERVER +STATE +TOKENS$/);
  assert.match(read, /^files_read_file +files +on +20$/);
  assert.match(search, /^files_search +files +off \(servers\.files\.tools\.deny\) +18$/);
  assert.equal(sum, 'Tools that are on: 60 tokens');
  assert.match((await cli('tools')).out, /^echo_echo +echo +on +\d+$/m);
  assert.equal(fieldOf(jsonOf((await cli('tools', '--json')).out), 'servers') !== undefined, true);
});

test('tools are turned off by their names on /mcp, each at its server', async () => {
  written = [];
  const { out, code } = await cli(
    'tool',
    'disable',
    'files_read_file',
    'echo_echo',
    'files_write_file',
  );
  assert.equal(code, 0);
  assert.equal(out, 'files: read_file, write_file off\necho: echo off');
  assert.deepEqual(written, [
    ['files', { deny: ['search', 'read_file', 'write_file'] }],
    ['echo', { deny: ['echo'] }],
  ]);
});

test('--server takes the names of that server', async () => {
  written = [];
  const { out } = await cli('tools', 'enable', 'search', '--server', 'files', '--json');
  assert.ok(Array.isArray(fieldOf(jsonOf(out), 'servers')));
  assert.deepEqual(written, [['files', { deny: [] }]]);
});

test.for([
  [
    ['disable', 'files_wirte_file'],
    1,
    /no tool is called "files_wirte_file"\. Did you mean "files_write_file"\?/,
  ],
  [['disable', 'nothing', '--server', 'files'], 1, /files has no tool "nothing"/],
  [['disable'], 2, /write "agenthub tools disable TOOL\.\.\."/],
  [['files', 'x'], 2, /enable or disable before TOOL/],
  [['nobody'], 1, /no server is called "nobody"/],
] as const)('tools %j fails with exit code %i', async ([args, code, expected]) => {
  const outcome = await cli('tools', ...args);
  assert.equal(outcome.code, code);
  assert.match(outcome.err, expected);
});

test('a hidden changed tool, an unknown count and an empty list are shown', async () => {
  const held = { name: 'a', public_name: 'x_a', enabled: true, held: true, tokens: null };
  await using other = await openOther(
    200,
    JSON.stringify({ tokens: null, servers: [{ server: 'x', tokens: null, tools: [held] }] }),
  );
  const { out } = await cli('tools', '--url', other.url);
  assert.match(out, /^x_a +x +hidden \(changed: see "agenthub pins"\) +unknown$/m);
  await using none = await openOther(200, '{"tokens": 0, "servers": []}');
  assert.match((await cli('tools', '--url', none.url)).out, /^There are no tools\./);
});
