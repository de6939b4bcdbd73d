import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { parse as parseToml } from 'smol-toml';
import { afterAll, beforeAll, test } from 'vitest';
import { type HubProcess, startHub } from '#helpers/hub-process';
import { type Scratch, openScratch } from '../clients/machine.ts';

const root = join(import.meta.dirname, '../..');
const token = 'planted-token-0123456789';
const echo = {
  command: process.execPath,
  args: [join(root, 'tests/fixtures/servers/echo.mjs')],
  runtime: 'process',
  auto_start: true,
};

let hub: HubProcess;
let scratch: Scratch;
beforeAll(async () => {
  scratch = await openScratch();
  hub = await startHub({ config: { servers: { echo } }, env: { ROUTER_TOKEN: token } });
});
afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  await scratch?.[Symbol.asyncDispose]();
});

/** Connects a client with the real program. Returns the resulting text of the client's file. */
async function connected(client: string, file: string): Promise<string> {
  await promisify(execFile)(
    process.execPath,
    [join(root, 'bin/agenthub.mjs'), 'connect', client, '--yes'],
    {
      cwd: scratch.machine.folder,
      env: {
        PATH: process.env['PATH'],
        HOME: scratch.home,
        ROUTER_PORT: new URL(hub.url).port,
        ROUTER_TOKEN: token,
      },
    },
  );
  return await readFile(join(scratch.home, file), 'utf8');
}

async function toolsBy(transport: StdioClientTransport | StreamableHTTPClientTransport) {
  const client = new Client({ name: 'connect', version: '1.0.0' });
  await client.connect(transport);
  const { tools } = await client.listTools();
  await client.close();
  return tools.map(({ name }) => name);
}

/** Replaces a reference to ROUTER_TOKEN by its value, as clients do. */
const filledIn = (text: string) => text.replace(/\$?\{(?:env:)?ROUTER_TOKEN\}/, token);

test('Claude Desktop starts the command of its file, and has the tools of the hub', async () => {
  const file = '.config/Claude/claude_desktop_config.json';
  const { command, args, env } = JSON.parse(await connected('claude-desktop', file)).mcpServers
    .agenthub;
  // Desktop programs have a PATH of their own.
  const transport = new StdioClientTransport({
    command,
    args,
    env: { ...env, PATH: '/usr/bin:/bin' },
  });
  assert.ok((await toolsBy(transport)).includes('echo_echo'));
});

test.for([
  ['claude-code', '.claude.json', 'mcpServers', 'url'],
  ['vscode', '.config/Code/User/mcp.json', 'servers', 'url'],
  ['cursor', '.cursor/mcp.json', 'mcpServers', 'url'],
  ['windsurf', '.codeium/windsurf/mcp_config.json', 'mcpServers', 'serverUrl'],
  ['gemini-cli', '.gemini/settings.json', 'mcpServers', 'httpUrl'],
  ['qwen-code', '.qwen/settings.json', 'mcpServers', 'httpUrl'],
  ['copilot-cli', '.copilot/mcp-config.json', 'mcpServers', 'url'],
  ['opencode', '.config/opencode/opencode.json', 'mcp', 'url'],
] as const)(
  '%s connects to the hub, with the token of the variable',
  async ([client, file, group, address]) => {
    const entry = JSON.parse(await connected(client, file))[group].agenthub;
    const headers = { Authorization: filledIn(entry.headers.Authorization) };
    const transport = new StreamableHTTPClientTransport(new URL(entry[address]), {
      requestInit: { headers },
    });
    assert.ok((await toolsBy(transport)).includes('echo_echo'));
  },
);

test('Codex connects to the hub, with the token of the variable', async () => {
  const entry: unknown = parseToml(await connected('codex', '.codex/config.toml'))['mcp_servers'];
  assert.deepEqual(structuredClone(entry), {
    agenthub: {
      url: `${hub.url}/mcp`.replace('127.0.0.1', 'localhost'),
      bearer_token_env_var: 'ROUTER_TOKEN',
    },
  });
});
