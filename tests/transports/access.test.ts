import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import {
  Client as ClientOfV2,
  StreamableHTTPClientTransport as HttpOfV2,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { JSONRPCMessageSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, test } from 'vitest';
import type { PolicyRule } from '#config';
import { type TestHub, startHub } from '#helpers/hub';
import type { Observed } from '#routing';
import type { RawClient } from '../contracts/client-transport.ts';
import { createTestAccess } from '../routing/test-access.ts';
import { openOnStdio, openOverBridge } from './raw-clients.ts';

type Path = '' | '/files';
type Opened = AsyncDisposable & {
  readonly list: () => Promise<readonly string[]>;
  readonly call: (name: string) => Promise<unknown>;
  readonly read: (uri: string) => Promise<unknown>;
};

async function over(transport: Transport): Promise<Opened> {
  const client = new Client({ name: 'v1', version: '1' });
  await client.connect(transport);
  return {
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async name => await client.callTool({ name, arguments: {} }),
    read: async uri => await client.readResource({ uri }),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

async function overV2(hub: TestHub, path: Path, pin: boolean): Promise<Opened> {
  const info = { name: 'v2', version: '1' };
  const client = new ClientOfV2(
    info,
    pin ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {},
  );
  await client.connect(new HttpOfV2(new URL(`${hub.url}/mcp${path}`)));
  return {
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async name => await client.callTool({ name, arguments: {} }),
    read: async uri => await client.readResource({ uri }),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

const serverIn = (path: Path) => (path === '' ? undefined : 'files');

/** The SDK's client on two pipes. */
async function overPipes(pipes: RawClient, output: unknown): Promise<Opened> {
  assert.ok(output instanceof PassThrough);
  let at = 0;
  const transport: Transport = {
    async start() {
      output.on('data', () =>
        setImmediate(() => {
          for (const { received } = pipes; at < received.length; at++)
            transport.onmessage?.(JSONRPCMessageSchema.parse(received[at]));
        }),
      );
    },
    send: async message => pipes.send({ ...message }),
    close: async () => pipes.close(),
  };
  return await over(transport);
}

const transports: Readonly<Record<string, (hub: TestHub, path: Path) => Promise<Opened>>> = {
  'streamable HTTP': async ({ url }, path) =>
    await over(new StreamableHTTPClientTransport(new URL(`${url}/mcp${path}`))),
  'streamable HTTP, SDK v2': async (hub, path) => await overV2(hub, path, false),
  'streamable HTTP of 2026-07-28': async (hub, path) => await overV2(hub, path, true),
  SSE: async ({ url }, path) => await over(new SSEClientTransport(new URL(`${url}/sse${path}`))),
  WebSocket: async ({ url }, path) =>
    await over(new WebSocketClientTransport(new URL(`${url.replace('http', 'ws')}/mcp${path}`))),
  stdio: async (hub, path) => {
    const pipes = await openOnStdio(hub, serverIn(path), 'lines');
    return await overPipes(pipes, pipes.streams.output);
  },
  'connect-stdio': async (hub, path) => {
    const pipes = await openOverBridge(hub, serverIn(path), 'lines');
    return await overPipes(pipes, pipes.output);
  },
};

const fixtures = [{ name: 'files' }];
const tools = ['read_file', 'write_file', 'move_file', 'search'];

/** Each kind of rule, and the tools and resources that it denies. */
const kinds: readonly (readonly [
  what: string,
  rule: Omit<PolicyRule, 'action'>,
  tools: readonly string[],
  isSecretDenied: boolean,
])[] = [
  ['tools', { tools: ['files_write*'] }, ['write_file'], false],
  ['resources', { resources: ['file:///secret/*'] }, [], true],
  ['servers', { servers: ['fi*'] }, tools, true],
  ['methods', { methods: ['tools/call'] }, tools, false],
  ['annotations', { annotations: { destructiveHint: true } }, ['write_file'], false],
  ['clients', { clients: ['local', 'stdio', 'test'], tools: ['*'] }, tools, false],
];

const refusal = /policy denies the (tool|resource|method) "[^"]+" to (local|stdio): not today/;

describe.each(Object.entries(transports))('over %s', (_name, connect) => {
  test.each(['', '/files'] as const)(
    'every kind of rule hides and refuses at /mcp%s, in the same words, and each refusal is observed',
    async path => {
      const { access, change } = createTestAccess(fixtures);
      const seen: Observed[] = [];
      await using hub = await startHub(fixtures, {
        access,
        observer: call => void seen.push(call),
      });
      await using client = await connect(hub, path);
      const named = (name: string) => (path === '' ? `files_${name}` : name);
      for (const [what, rule, denied, isSecretDenied] of kinds) {
        change({ policy: [{ ...rule, action: 'deny', reason: 'not today' }] });
        seen.length = 0;
        const rest = tools.filter(name => !denied.includes(name)).map(named);
        assert.deepEqual(await client.list(), rest, what);
        for (const name of tools)
          if (denied.includes(name)) await assert.rejects(client.call(named(name)), refusal, what);
          else await client.call(named(name));
        for (const uri of ['file:///secret/b', 'file:///secret/by-template'])
          if (isSecretDenied) await assert.rejects(client.read(uri), refusal, what);
          else await client.read(uri);
        const refused = seen.filter(({ outcome }) => outcome === 'HUB_POLICY_DENIED');
        assert.equal(refused.length, denied.length + (isSecretDenied ? 2 : 0), what);
        for (const { decision } of refused)
          assert.deepEqual([decision?.action, decision?.rule], ['deny', 'policy[0]'], what);
      }
      change({});
      assert.equal((await client.list()).length, tools.length);
    },
  );
});

test('a single call without a session is refused with status 403', async () => {
  const { access } = createTestAccess(fixtures, {
    policy: [{ tools: ['files_write_file'], action: 'deny', reason: 'not today' }],
  });
  await using hub = await startHub(fixtures, { access });
  const post = async (method: string, params: object) =>
    await fetch(`${hub.url}/mcp/files/${method}`, { method: 'POST', body: JSON.stringify(params) });
  const refused = await post('tools/call', { name: 'write_file' });
  assert.equal(refused.status, 403);
  assert.deepEqual(await refused.json(), {
    jsonrpc: '2.0',
    id: 1,
    error: {
      code: -32006,
      message: 'policy denies the tool "files_write_file" to local: not today',
      data: { code: 'HUB_POLICY_DENIED', rule: 'policy[0]', reason: 'not today' },
    },
  });
  assert.equal((await post('tools/call', { name: 'read_file' })).status, 200);
  const listed = await (await post('tools/list', {})).text();
  assert.ok(listed.includes('read_file') && !listed.includes('write_file'), listed);
});
