import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { type Era, connectEra, eras, refusal } from '#helpers/eras';
import { type HubProcess, startHub, until } from '#helpers/hub-process';
import { isLong } from '#helpers/length';
import {
  callsIn,
  connectOver,
  connectWebSocket,
  fixture,
  linesOf,
  linesOfCallsBy,
  onlyEcho,
  post,
  problemsOf,
  servers,
  startReady,
  textsOf,
} from './audit-scene.ts';

const uri = 'echo://greeting';

/** Resolves when a server has exactly one call in flight. */
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
  // The line of a subscription is written when its stream ends.
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
  let hub: HubProcess;
  beforeAll(async () => {
    hub = await startReady();
  });
  afterAll(async () => await hub?.[Symbol.asyncDispose]());

  test.each(eras)('of %s over streamable HTTP, at both endpoints, whatever its end', async era => {
    const lines = await linesOfCallsBy(hub, () => callInEveryWay(era, hub));
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

  test('over HTTP with SSE and over WebSocket', async () => {
    await using sse = await connectOver(new SSEClientTransport(new URL(`${hub.url}/sse`)));
    await using socket = await connectWebSocket(hub);
    const lines = await linesOfCallsBy(hub, async () => {
      await sse.call('echo_echo', { text: 'one' });
      await socket.call('echo_echo', { text: 'two' });
    });
    assert.deepEqual(
      lines.map(line => line['arguments_sha256']),
      ['one', 'two'].map(text => hash('sha256', JSON.stringify({ text }))),
    );
  });

  test('32 parallel calls have a line each, in an unbroken chain', async () => {
    await using client = await connectWebSocket(hub);
    const texts = Array.from({ length: 320 }, (_, index) => `call ${index}`);
    const lines = await linesOfCallsBy(hub, async () => {
      for (let from = 0; from < texts.length; from += 32)
        await Promise.all(
          texts.slice(from, from + 32).map(text => client.call('echo_echo', { text })),
        );
    });
    const hashes = lines.map(line => String(line['arguments_sha256']));
    const expected = texts.map(text => hash('sha256', JSON.stringify({ text })));
    assert.deepEqual(hashes.toSorted(), expected.toSorted());
    assert.deepEqual(await problemsOf(hub), []);
  });

  test('even if it is in flight when the hub stops', async () => {
    await using hub = await startReady({ config: onlyEcho });
    await using client = await connectWebSocket(hub);
    const stopped = refusal(client.call('echo_slow', { ms: 60_000 }));
    await isAt(hub, 'echo');
    await hub.stop();
    await stopped;
    const outcomes = callsIn(await linesOf(hub.dataDir)).map(({ outcome }) => outcome);
    assert.deepEqual(outcomes, ['HUB_SHUTTING_DOWN']);
    assert.deepEqual(await problemsOf(hub), []);
  });
});

describe.each(['SIGTERM', 'SIGKILL'] as const)('with 100 calls in flight at %s', signal => {
  test('each answered call has its line, and the chain is valid', async () => {
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
      // A hub that stops refuses further calls, so only answers with 200 count.
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
    // After a kill, lines of the last moment (0.1 s) may not be written.
    const written = signal === 'SIGTERM' ? answered : answered.filter(at => at < endedAt - 200);
    assert.ok(lines >= written.length, `${lines} lines of ${written.length} answered calls`);
    assert.deepEqual(await problemsOf(hub), []);
  });
});

test('the chain survives hubs that are killed while they write', async () => {
  await using temp = await mkdtempDisposable(join(tmpdir(), 'agenthub-audit-'));
  // Each kill loses the lines of the last moment, so the last run is long enough to outweigh them.
  const [runs, first, growth] = isLong ? [6, 40, 3] : [3, 120, 6];
  let answered = 0;
  for (let run = 0; run < runs; run++) {
    await using hub = await startReady({ config: onlyEcho, dataDir: temp.path });
    const { promise: enough, resolve } = Promise.withResolvers<void>();
    const until = answered + first * growth ** run;
    const work = async () => {
      await using client = await connectWebSocket(hub);
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
  const lines = await linesOf(temp.path);
  assert.equal(lines.filter(({ action }) => action === 'hub_started').length, runs);
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
      // A server pins its definitions whenever its lists are read, which is at any time between the changes.
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
