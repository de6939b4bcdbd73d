import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { type Everyman, connectEveryman } from '#fixtures/everything/client';
import { demos } from '#fixtures/everything/demos';
import { describeWithEngine } from '#helpers/engine';
import { type EraClient, connectEra } from '#helpers/eras';
import { type HubProcess, settled, startHub, until } from '#helpers/hub-process';

const hubName = `everything-${process.pid}`;
const root = join(import.meta.dirname, '..', '..');

/** The server keeps state per client and sends it requests, so each session has its own instance. */
const config = {
  servers: {
    everything: {
      package: '@modelcontextprotocol/server-everything@2026.8.31',
      instance: 'session',
      auto_start: true,
    },
  },
};

const own = (name: string) => name;
const among = (name: string) => `everything_${name}`;

describeWithEngine('server-everything through the hub', () => {
  let hub: HubProcess;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'agenthub-everything-'));
    hub = await startHub({ config, env: { HUB_NAME: hubName } });
    // The image is built at the first start of the server, and is used again later.
    assert.deepEqual(await settled(hub, 280_000), { everything: 'running' }, hub.log());
  }, 300_000);

  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
    const left = execFileSync('docker', ['ps', '-aq', '--filter', `name=${hubName}`]);
    assert.equal(left.toString(), '', 'the hub leaves no container behind');
  });

  /** Starts a hub over stdio, which exits with its client. */
  function stdioHub(): StdioClientTransport {
    const file = join(folder, 'mcp-servers.json');
    writeFileSync(file, JSON.stringify(config));
    return new StdioClientTransport({
      command: process.execPath,
      args: [join(root, 'bin/agenthub.mjs'), 'serve', '--stdio', '--config', file],
      cwd: folder,
      env: {
        ...Object.fromEntries(
          Object.entries(process.env).flatMap(([name, value]) =>
            value === undefined ? [] : [[name, value]],
          ),
        ),
        DATA_DIR: join(folder, 'data'),
        HUB_NAME: `${hubName}-stdio`,
      },
    });
  }

  const at = (scheme: string, path: string) => new URL(hub.url.replace('http:', scheme) + path);

  const wires: readonly {
    readonly name: string;
    readonly of: (name: string) => string;
    readonly open: () => Transport;
  }[] = [
    {
      name: 'streamable HTTP',
      of: own,
      open: () => new StreamableHTTPClientTransport(at('http:', '/mcp/everything')),
    },
    {
      name: 'streamable HTTP, among all servers',
      of: among,
      open: () => new StreamableHTTPClientTransport(at('http:', '/mcp')),
    },
    {
      name: 'HTTP with SSE',
      of: own,
      open: () => new SSEClientTransport(at('http:', '/sse/everything')),
    },
    {
      name: 'WebSocket',
      of: own,
      open: () => new WebSocketClientTransport(at('ws:', '/mcp/everything')),
    },
    { name: 'stdio, among all servers', of: among, open: stdioHub },
  ];

  // The transports run concurrently, and the demos of each one after the other, as they share its client. Some take the
  // server five seconds.
  describe.concurrent.for(wires)('over $name', ({ of, open }) => {
    let everyman: Everyman;
    beforeAll(async () => {
      everyman = await connectEveryman(open());
      // A hub over stdio accepts clients while its servers are still starting.
      await until(
        async () => (await everyman.client.listTools()).tools.map(({ name }) => name),
        names => names.includes(of('echo')),
        60_000,
      );
    }, 120_000);
    afterAll(async () => {
      await everyman?.[Symbol.asyncDispose]();
    });

    test.sequential.for(demos.map(demo => [demo.name, demo] as const))(
      '%s',
      { timeout: 60_000 },
      async ([, demo]) => {
        await demo.run(everyman, of);
      },
    );
  });

  describe('to a client of 2026', () => {
    let client: EraClient;
    beforeAll(async () => {
      client = await connectEra('2026', `${hub.url}/mcp/everything`);
    });
    afterAll(async () => {
      await client?.[Symbol.asyncDispose]();
    });

    test('its tools, prompts and resources answer', async () => {
      assert.ok((await client.toolNames()).includes('echo'));
      assert.match(await client.call('echo', { message: 'hello' }), /hello/);
      assert.match(await client.prompt('args-prompt', { city: 'Oslo' }), /Oslo/);
      assert.match(await client.read('demo://resource/dynamic/text/3'), /Resource 3/);
      assert.deepEqual(await client.complete('completable-prompt', 'department', 'S'), [
        'Sales',
        'Support',
      ]);
    });

    test('it asks a model, a person and for the roots', async () => {
      assert.match(
        await client.call('trigger-sampling-request', { prompt: 'why?' }),
        /echo of .*why\?/,
      );
      assert.match(await client.call('trigger-elicitation-request'), /- Name: Ada/);
      assert.match(await client.call('get-roots-list'), /file:\/\/\/home\/ada/);
      for (const errorPath of [false, true])
        assert.match(
          await client.call('trigger-url-elicitation', {
            url: 'https://example.com/',
            elicitationId: `page-${errorPath}`,
            errorPath,
          }),
          /completed the URL elicitation flow/,
        );
    });
  });
});
