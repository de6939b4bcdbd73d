import assert from 'node:assert/strict';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { type HubProcess, startHub, until } from '#helpers/hub-process';

const fixture = (file: string) => ({
  command: process.execPath,
  args: [join(import.meta.dirname, '../fixtures/servers', file)],
  auto_start: true,
  runtime: 'process',
});

const kinds = ['message', 'progress', 'list_changed', 'updated'] as const;
/** Limit for the p95 of a neighbour's calls, as a multiple of its p95 behind a hub without a flood. */
const mostTimes = 1.5;
const callsOfARound = 200;
/** Number of rounds. Other load makes rounds worse, never better, so one good round is enough. */
const mostRounds = 6;

/** Opens an MCP session without an SDK. Its streams are read but not parsed, so it costs almost no CPU time. */
async function open(hub: HubProcess, server: string) {
  const url = `${hub.url}/mcp/${server}`;
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  let id = 0;
  async function request(method: string, params: object): Promise<string> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params });
    const answer = await fetch(url, { method: 'POST', headers, body });
    const session = answer.headers.get('mcp-session-id');
    if (session !== null) headers['mcp-session-id'] = session;
    return await answer.text();
  }
  await request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'flooded', version: '1' },
  });
  headers['mcp-protocol-version'] = '2025-11-25';
  await fetch(url, {
    method: 'POST',
    headers,
    body: '{"jsonrpc":"2.0","method":"notifications/initialized"}',
  });
  const ending = new AbortController();
  let heard = 0;
  const stream = await fetch(url, { headers, signal: ending.signal });
  const reading = (async () => {
    for await (const chunk of stream.body ?? []) heard += chunk.length;
  })().catch(() => undefined);
  return {
    request,
    heard: () => heard,
    call: (name: string, args: object = {}, progressToken?: number) =>
      request('tools/call', {
        name,
        arguments: args,
        ...(progressToken !== undefined && { _meta: { progressToken } }),
      }),
    async [Symbol.asyncDispose]() {
      ending.abort();
      await reading;
    },
  };
}

type ByHand = Awaited<ReturnType<typeof open>>;

/** Returns the p95 of calls to each neighbour, in ms. They take turns, so that other load delays all of them. */
async function p95s(...neighbours: readonly ByHand[]): Promise<readonly number[]> {
  const took = neighbours.map((): number[] => []);
  for (let call = 0; call < callsOfARound; call++)
    for (const [index, neighbour] of neighbours.entries()) {
      const since = performance.now();
      const answer = await neighbour.call('echo', { text: `text ${call}` });
      took[index]?.push(performance.now() - since);
      assert.match(answer, new RegExp(`text ${call}`));
    }
  return took.map(all => all.sort((a, b) => a - b)[Math.floor(callsOfARound * 0.95)] ?? 0);
}

describe('a server that floods the hub', () => {
  let hub: HubProcess;
  let quietHub: HubProcess;
  let neighbour: ByHand;
  let control: ByHand;

  beforeAll(async () => {
    const env = { DOCKER_HOST: 'unix:///nonexistent.sock' };
    const echo = { neighbour: fixture('echo.mjs') };
    const floods = Object.fromEntries(kinds.map(kind => [kind, fixture('flood.mjs')]));
    [hub, quietHub] = await Promise.all([
      startHub({ config: { servers: { ...floods, ...echo } }, env }),
      startHub({ config: { servers: { ...echo, flood: fixture('flood.mjs') } }, env }),
    ]);
    [neighbour, control] = await Promise.all([open(hub, 'neighbour'), open(quietHub, 'neighbour')]);
    await p95s(neighbour, control);
  });

  afterAll(async () => {
    for (const one of [neighbour, control, hub, quietHub]) await one?.[Symbol.asyncDispose]();
  });

  test.for(kinds)('with %s does not delay the calls of its neighbours', async (kind, context) => {
    await using flooded = await open(hub, kind);
    await flooded.request('resources/subscribe', { uri: 'flood://resource' });
    void flooded.call('flood', { kind }, 1).catch(() => undefined);
    const seen: string[] = [];
    try {
      await until(
        async () => hub.log(),
        log =>
          log.split('\n').some(line => line.includes(`"${kind}"`) && line.includes('max_notif')),
        10_000,
      );
      for (let round = 0; round < mostRounds; round++) {
        const [besideMs = 0, quietMs = 0] = await p95s(neighbour, control);
        seen.push(`${besideMs.toFixed(1)} ms, and ${quietMs.toFixed(1)} ms without the flood`);
        await context.annotate(`p95 of the neighbour: ${seen.at(-1)}`);
        if (besideMs <= mostTimes * quietMs) return;
      }
      assert.fail(`p95 of the neighbour: ${seen.join('; ')}`);
    } finally {
      // The answer to `stop` comes after all that the server has written before.
      void flooded.call('stop').catch(() => undefined);
    }
  });

  test('has its own calls answered, with all of their progress notifications', async () => {
    await using flooded = await open(quietHub, 'flood');
    const answer = await flooded.call('flood', { kind: 'progress', count: 1_500 }, 7);
    assert.equal(answer.match(/"progressToken":7/g)?.length, 1_500);
    assert.match(answer, /sent 1500/);
  });
});
