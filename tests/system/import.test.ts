import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'vitest';
import { connect } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { startHub, states } from '#helpers/hub-process';
import { isLong } from '#helpers/length';
import { openScratch } from '../clients/machine.ts';

const root = join(import.meta.dirname, '../..');
const key = 'sk-planted0123456789';
const npx = (...args: readonly string[]) => ({ command: 'npx', args: ['-y', ...args] });

/** Starts the conformance fixture over HTTP. */
async function listening() {
  const program = join(root, 'tests/fixtures/conformance/server.mjs');
  const child = spawn(process.execPath, [program, '--http', '0', '--era', '2025'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [line] = await once(createInterface({ input: child.stderr }), 'line');
  return {
    url: /http:\S+/.exec(String(line))?.[0] ?? assert.fail(String(line)),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

/** Creates a home folder with configs of five clients. In `npm test` only one of their servers must be installed. */
async function openHome(remote: string) {
  const scratch = await openScratch();
  await scratch.put('notes/a.md', 'written by the host');
  await chmod(scratch.home, 0o755);
  const { home } = scratch;
  const files = npx('@modelcontextprotocol/server-filesystem', join(home, 'notes'));
  const more = {
    memory: npx('@modelcontextprotocol/server-memory'),
    brave: { ...npx('@modelcontextprotocol/server-brave-search'), env: { BRAVE_API_KEY: key } },
    fetch: { command: 'uvx', args: ['mcp-server-fetch'] },
    time: { command: 'uvx', args: ['mcp-server-time', '--local-timezone=UTC'] },
  };
  const { memory, brave, fetch, time } = more;
  const bridge = npx('mcp-remote', remote, '--allow-http', '--header', 'Authorization:${AUTH}');
  const json = (value: object) => JSON.stringify(value, undefined, 2);
  await scratch.put(
    '.claude.json',
    json({ projects: { [home]: { mcpServers: { files } } }, tips: 3 }),
  );
  await scratch.put(
    '.config/Claude/claude_desktop_config.json',
    json({
      mcpServers: {
        remote: { ...bridge, env: { AUTH: `Bearer ${key}` } },
        ...(isLong && { fetch }),
      },
    }),
  );
  await scratch.put(
    '.cursor/mcp.json',
    `{ // mine\n"mcpServers": ${json({ fs: files, ...(isLong && { brave }) })},}`,
  );
  await scratch.put('.config/Code/User/mcp.json', json({ servers: isLong ? { time } : {} }));
  await scratch.put(
    '.codex/config.toml',
    `model = "x"\n${isLong ? `[mcp_servers.memory]\ncommand = "npx"\nargs = ${JSON.stringify(memory.args)}\n` : ''}`,
  );
  return Object.assign(scratch, { before: await scratch.files() });
}

describeWithEngine('servers of several clients', () => {
  test('run in the hub after an import, with what they need, and an undo restores every byte', async () => {
    await using remote = await listening();
    await using home = await openHome(remote.url);
    await using hub = await startHub({
      config: { servers: {} },
      env: { HUB_NAME: `import-${process.pid}`, HOME: home.home },
    });
    const agenthub = (...args: readonly string[]) =>
      execFileSync(process.execPath, [join(root, 'bin/agenthub.mjs'), ...args], {
        cwd: dirname(hub.configFile),
        encoding: 'utf8',
        env: {
          PATH: process.env['PATH'],
          HOME: home.home,
          MCP_SERVERS_CONFIG: hub.configFile,
          DATA_DIR: hub.dataDir,
          ROUTER_PORT: new URL(hub.url).port,
          DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent',
        },
      });
    const out = agenthub(
      'import',
      '--all',
      '--yes',
      '--allow',
      'needed',
      '--write',
      'files',
      '--connect',
    );
    const names = ['files', 'remote', ...(isLong ? ['fetch', 'brave', 'time', 'memory'] : [])];
    const running = names.map(name => [name, 'running'] as const);
    assert.deepEqual(await states(hub), Object.fromEntries(running), out);
    assert.match(out, /= fs: the same server as "files" of Claude Code, so one entry/);
    assert.match(out, /files +\d+ tools +writes \S+\/notes/);

    await using client = await connect(`${hub.url}/mcp/files`);
    const path = join(home.home, 'notes/a.md');
    const read = await client.call('read_text_file', { path });
    assert.match(JSON.stringify(read), /written by the host/);

    const after = await home.files();
    assert.ok(after['.claude.json']?.includes('/mcp"'), 'the hub is in place of the servers');
    assert.ok(!after['.claude.json']?.includes('server-filesystem'));
    agenthub('import', '--undo', '--yes');
    assert.deepEqual(await home.files(), home.before);
  }, 300_000);
});
