import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { describe, test } from 'vitest';
import { verifyAudit } from '#audit';
import { type Era, connectEra, eras, refusal } from '#helpers/eras';
import {
  type HubProcess,
  type HubProcessOptions,
  startHub,
  states,
  until,
} from '#helpers/hub-process';

const root = join(import.meta.dirname, '../..');
const fixture = (file: string, entry: object = {}) => ({
  command: process.execPath,
  args: [join(root, 'tests/fixtures/servers', file)],
  runtime: 'process',
  auto_start: true,
  ...entry,
});
const servers = { echo: fixture('echo.mjs'), quick: fixture('echo.mjs', { timeout: 1 }) };

type Line = Readonly<Record<string, unknown>>;

async function textsOf(dataDir: string): Promise<readonly string[]> {
  const folder = join(dataDir, 'audit');
  const names = (await readdir(folder)).filter(name => name.endsWith('.jsonl')).sort();
  const texts = await Promise.all(names.map(name => readFile(join(folder, name), 'utf8')));
  return texts.flatMap(text => text.split('\n').slice(0, -1));
}

/** The lines of a hub that has stopped. */
async function linesOf(dataDir: string): Promise<readonly Line[]> {
  return (await textsOf(dataDir)).map((text): Line => JSON.parse(text));
}

const callsIn = (lines: readonly Line[]) => lines.filter(({ kind }) => kind === 'call');
const problemsOf = async ({ dataDir }: HubProcess) =>
  (await verifyAudit(join(dataDir, 'audit'))).problems;

async function tempFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-audit-'));
  return {
    folder,
    [Symbol.asyncDispose]: async () => await rm(folder, { recursive: true, force: true }),
  };
}

async function connectOver(transport: Transport) {
  const client = new Client({ name: 'over', version: '1' });
  await client.connect(transport);
  return {
    call: async (name: string, args: Record<string, unknown>) =>
      await client.callTool({ name, arguments: args }),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** Starts a hub and waits until its servers run. */
async function startReady(options: Partial<HubProcessOptions> = {}): Promise<HubProcess> {
  const hub = await startHub({ config: { servers }, ...options });
  await until(
    () => states(hub),
    found => Object.values(found).every(state => state === 'running'),
    20_000,
  );
  return hub;
}

async function post(hub: HubProcess, path: string, body?: object) {
  return await fetch(`${hub.url}${path}`, {
    method: 'POST',
    headers: { ...hub.ownerHeaders, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
}

const uri = 'echo://greeting';

/** Resolves when a server has a call. */
const isAt = async (hub: HubProcess, server: string) =>
  await until(
    async () => await (await fetch(`${hub.url}/metrics`)).text(),
    text => text.includes(`agenthub_calls_in_flight{server="${server}"} 1`),
    5_000,
  );

const subscriptions = {
  '2025': [
    ['resources/subscribe', uri, 'echo', 'ok'],
    ['resources/unsubscribe', uri, 'echo', 'ok'],
  ],
  // Its line is written when the stream ends.
  '2026': [['subscriptions/listen', undefined, undefined, 'HUB_CALL_CANCELLED']],
} as const;

/** Makes calls that end in different ways. */
async function callInEveryWay(era: Era, hub: HubProcess): Promise<void> {
  await using client = await connectEra(era, `${hub.url}/mcp`);
  await client.call('echo_echo', { text: 'not in the log' });
  await client.prompt('echo_greet', { name: 'Ada' });
  await client.complete('echo_greet', 'name', 'A');
  await client.read(uri);
  await (await client.subscribe(uri)).stop();
  await refusal(client.call('quick_slow', { ms: 5_000 }));
  await refusal(client.call('nowhere_tool'));
  const cancelling = new AbortController();
  const cancelled = refusal(
    client.call('echo_slow', { ms: 60_000 }, { signal: cancelling.signal }),
  );
  await isAt(hub, 'echo');
  cancelling.abort();
  await cancelled;
  await using alone = await connectEra(era, `${hub.url}/mcp/echo`);
  await alone.call('echo', { text: 'alone' });
}

describe('every call of a client gets one line', () => {
  test.each(eras)('of %s over streamable HTTP, at both endpoints, whatever its end', async era => {
    await using hub = await startReady();
    await callInEveryWay(era, hub);
    await hub.stop();
    const lines = callsIn(await linesOf(hub.dataDir));
    assert.deepEqual(
      lines.map(({ method, name, server, outcome }) => [method, name, server, outcome]),
      [
        ['tools/call', 'echo_echo', 'echo', 'ok'],
        ['prompts/get', 'echo_greet', 'echo', 'ok'],
        ['completion/complete', 'echo_greet', 'echo', 'ok'],
        ['resources/read', uri, 'echo', 'ok'],
        ...subscriptions[era],
        ['tools/call', 'quick_slow', 'quick', 'HUB_CALL_TIMEOUT'],
        ['tools/call', 'nowhere_tool', undefined, 'HUB_NAME_UNKNOWN'],
        ['tools/call', 'echo_slow', 'echo', 'HUB_CALL_CANCELLED'],
        ['tools/call', 'echo', 'echo', 'ok'],
      ],
    );
    assert.equal(lines[0]?.['arguments_sha256'], hash('sha256', '{"text":"not in the log"}'));
    assert.deepEqual(await problemsOf(hub), []);
    assert.doesNotMatch((await textsOf(hub.dataDir)).join(''), /not in the log/);
  });

  test('that is in flight when the hub stops', async () => {
    await using hub = await startReady();
    await using client = await connectOver(
      new WebSocketClientTransport(new URL(`${hub.url.replace('http', 'ws')}/mcp`)),
    );
    const stopped = refusal(client.call('echo_slow', { ms: 60_000 }));
    await isAt(hub, 'echo');
    await hub.stop();
    await stopped;
    const outcomes = callsIn(await linesOf(hub.dataDir)).map(({ outcome }) => outcome);
    assert.deepEqual(outcomes, ['HUB_SHUTTING_DOWN']);
    assert.deepEqual(await problemsOf(hub), []);
  });

  test('over HTTP with SSE and over WebSocket', async () => {
    await using hub = await startReady();
    await using sse = await connectOver(new SSEClientTransport(new URL(`${hub.url}/sse`)));
    await using socket = await connectOver(
      new WebSocketClientTransport(new URL(`${hub.url.replace('http', 'ws')}/mcp`)),
    );
    await sse.call('echo_echo', { text: 'one' });
    await socket.call('echo_echo', { text: 'two' });
    await hub.stop();
    const hashes = callsIn(await linesOf(hub.dataDir)).map(line => line['arguments_sha256']);
    assert.deepEqual(
      hashes,
      ['one', 'two'].map(text => hash('sha256', JSON.stringify({ text }))),
    );
  });
});

test('32 parallel calls have a line each, in an unbroken chain', async () => {
  await using hub = await startReady();
  await using client = await connectOver(
    new WebSocketClientTransport(new URL(`${hub.url.replace('http', 'ws')}/mcp`)),
  );
  const texts = Array.from({ length: 320 }, (_, index) => `call ${index}`);
  for (let from = 0; from < texts.length; from += 32)
    await Promise.all(texts.slice(from, from + 32).map(text => client.call('echo_echo', { text })));
  await hub.stop();
  const hashes = callsIn(await linesOf(hub.dataDir)).map(line => String(line['arguments_sha256']));
  const expected = texts.map(text => hash('sha256', JSON.stringify({ text })));
  assert.deepEqual(hashes.toSorted(), expected.toSorted());
  assert.deepEqual(await problemsOf(hub), []);
});

describe.each(['SIGTERM', 'SIGKILL'] as const)('with 100 calls in flight at %s', signal => {
  test('each answered call has its line, and the chain holds', async () => {
    const servers = { echo: fixture('echo.mjs', { max_concurrent_calls: 200 }) };
    await using hub = await startReady({ config: { servers } });
    const answered: number[] = [];
    let isOver = false;
    const call = async (ms: number) => {
      const answer = await fetch(`${hub.url}/mcp/echo/tools/call`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'slow', arguments: { ms } }),
      });
      await answer.text();
      // Refused by the hub that stops: it was no call.
      if (answer.status === 200) answered.push(performance.now());
      return answer.status;
    };
    const repeat = async (ms: number) => {
      while (!isOver && (await call(ms)) === 200);
    };
    const clients = Promise.allSettled(
      Array.from({ length: 100 }, (_, index) => repeat(20 + (index % 50))),
    );
    await until(
      async () => answered.length,
      count => count >= 400,
      20_000,
    );
    const endedAt = performance.now();
    await (signal === 'SIGTERM' ? hub.stop() : hub.kill());
    isOver = true;
    await clients;
    const lines = callsIn(await linesOf(hub.dataDir)).length;
    // Lines of the last 0.1 s before a kill are not written yet.
    const written = signal === 'SIGTERM' ? answered : answered.filter(at => at < endedAt - 200);
    assert.ok(lines >= written.length, `${lines} lines of ${written.length} answered calls`);
    assert.deepEqual(await problemsOf(hub), []);
  });
});

test('the chain survives hubs that are killed while they write', async () => {
  await using temp = await tempFolder();
  let answered = 0;
  for (let run = 0; run < 6; run++) {
    await using hub = await startReady({ dataDir: temp.folder });
    const { promise: enough, resolve } = Promise.withResolvers<void>();
    const until = answered + 40 * 3 ** run;
    const work = async () => {
      await using client = await connectOver(
        new WebSocketClientTransport(new URL(`${hub.url.replace('http', 'ws')}/mcp`)),
      );
      for (;;) {
        await client.call('echo_echo', { text: 'again' });
        if (++answered >= until) resolve();
      }
    };
    const ended = Promise.allSettled([work(), work(), work(), work()]);
    await enough;
    await hub.kill();
    await ended;
    assert.deepEqual(await problemsOf(hub), [], `run ${run}`);
  }
  const lines = await linesOf(temp.folder);
  assert.equal(lines.filter(({ action }) => action === 'hub_started').length, 6);
  assert.ok(callsIn(lines).length > answered / 2, `${callsIn(lines).length} of ${answered}`);
});

const varying = new Set(['seq', 'at', 'previous', 'address', 'reason']);

test('administrative changes and refused requests get a line that says who and what', async () => {
  await using hub = await startHub({
    config: { servers, management_tools: true },
    env: { ROUTER_TOKEN: 'a-token-for-calls-only' },
  });
  await post(hub, '/servers/echo/restart');
  await post(hub, '/servers/nothing/stop');
  await writeFile(
    hub.configFile,
    JSON.stringify({ servers: { echo: servers.echo, more: servers.quick }, tokens: 'required' }),
  );
  await post(hub, '/config/reload');
  assert.equal((await fetch(`${hub.url}/mcp`, { method: 'POST', body: '{}' })).status, 401);
  await hub.stop();
  const lines = await linesOf(hub.dataDir);
  const pinned = lines.filter(({ action }) => action === 'definitions_pinned');
  assert.ok(pinned.every(({ kind, outcome }) => kind === 'change' && outcome === 'ok'));
  assert.ok(pinned.some(({ target }) => target === 'echo'));
  assert.deepEqual(
    lines
      // Servers pin their definitions when their lists are read, at any time between the changes.
      .filter(({ kind, action }) => kind !== 'log' && action !== 'definitions_pinned')
      .map(line => Object.fromEntries(Object.entries(line).filter(([name]) => !varying.has(name)))),
    [
      {
        kind: 'change',
        principal: 'owner',
        action: 'server_restart',
        target: 'echo',
        outcome: 'ok',
      },
      {
        kind: 'change',
        principal: 'owner',
        action: 'server_stop',
        target: 'nothing',
        outcome: 'HUB_SERVER_UNKNOWN',
      },
      {
        kind: 'change',
        action: 'config_changed',
        details: { added: ['more'], removed: ['quick'], keys: ['managementTools', 'tokens'] },
        outcome: 'ok',
      },
      { kind: 'change', principal: 'owner', action: 'config_reload', outcome: 'ok' },
      { kind: 'refusal', method: 'POST', path: '/mcp', status: 401 },
    ],
  );
});
