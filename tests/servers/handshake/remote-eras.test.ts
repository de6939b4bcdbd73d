import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type IncomingMessage, createServer } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, test } from 'vitest';
import { silent, systemClock } from '#core';
import { configOf, createTestEras } from '#helpers/hub';
import { createRemoteRuntime } from '#runtimes/remote';
import { createServers, planLaunch } from '#servers';

const program = join(import.meta.dirname, '../../fixtures/conformance/server.mjs');

/** Starts a server over HTTP that speaks MCP of one era (2025 or 2026) or both. */
async function listening(era: string) {
  const child = spawn(process.execPath, [program, '--http', '0', '--era', era], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const lines = createInterface({ input: child.stderr });
  const [line] = await once(lines, 'line');
  return {
    url: /http:\S+/.exec(String(line))?.[0] ?? assert.fail(String(line)),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

/** Creates the servers of a hub, with one remote server at this URL. */
function serversAt(url: string) {
  const runtime = createRemoteRuntime({}, { clock: systemClock, log: silent, random: () => 1 });
  const config = configOf({ name: 'far', restart: 'temporary' });
  const servers = createServers(
    [{ ...config, launch: { kind: 'remote', transport: 'http', url, headers: {} } }],
    {
      clock: systemClock,
      log: silent,
      random: () => 1,
      hubVersion: '0',
      eras: createTestEras(silent),
      launch: (wanted, events, signal) =>
        runtime.launch(
          planLaunch(wanted, { auto: 'process', dataDir: '/nonexistent' }),
          events,
          signal,
        ),
    },
  );
  return Object.assign(servers, { [Symbol.asyncDispose]: () => servers.stopAll() });
}

async function messageIn(request: IncomingMessage): Promise<{ method?: string; id?: number }> {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  return body === '' ? {} : JSON.parse(body);
}

describe('the era of a remote server', () => {
  for (const [spoken, era] of [
    ['2025', 'legacy'],
    ['2026', 'modern'],
    ['both', 'modern'],
  ] as const)
    test(`that speaks ${spoken} is ${era}`, async () => {
      await using far = await listening(spoken);
      await using servers = serversAt(far.url);
      const server = servers.get('far');
      assert.equal((await server.ready()).serverInfo.era, era);
      assert.ok(server.listing.tool.length > 10);
    });

  test('is determined once in a run of the hub', async () => {
    const asked: string[] = [];
    const results: Readonly<Record<string, object>> = {
      initialize: { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: {} },
    };
    const far = createServer((request, response) => {
      void messageIn(request).then(({ method = 'none', id }) => {
        asked.push(method);
        const result = results[method];
        const error = { code: -32000, message: 'Server not initialized' };
        response.writeHead(result ? 200 : 400, { 'content-type': 'application/json' });
        response.end(
          JSON.stringify({ jsonrpc: '2.0', ...(result ? { id, result } : { id: null, error }) }),
        );
      });
    }).listen(0, '127.0.0.1');
    await once(far, 'listening');
    const address = far.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    {
      await using servers = serversAt(`http://127.0.0.1:${port}/mcp`);
      const server = servers.get('far');
      assert.equal((await server.ready()).serverInfo.era, 'legacy');
      await server.stop(false);
      asked.length = 0;
      assert.equal((await server.ready()).serverInfo.era, 'legacy');
      assert.equal(asked[0], 'initialize');
    }
    far.closeAllConnections();
    far.close();
  });
});
