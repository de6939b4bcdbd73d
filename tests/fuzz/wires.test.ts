import assert from 'node:assert/strict';
import { afterAll, describe, expect, test } from 'vitest';
import { type TestHub, startHub, until } from '#helpers/hub';
import { createSecrets } from './clients.ts';
import { type Generator, createGenerator } from './generate.ts';
import {
  type WireClient,
  openHttpClient,
  openModernClient,
  openStreamClient,
} from './over-wires.ts';
import { memoryInUse, replay, seed, share, uncaught } from './settings.ts';
import { type OpenWire, agent, post, wires } from './wires.ts';

const whisper = { file: 'whisper.mjs', maxRestarts: 0 } as const;
const timeout = 300_000;
const maxGrowthBytes = 8 * 1024 * 1024;
const clientsAtOnce = 6;
const burst = 25;
/** How many messages each client sends before it leaves without a word. */
const perClient = 150;

afterAll(() => agent.destroy());

/** A client over HTTP that does nothing unusual, and must not notice what the others do. */
async function openBystander(hub: TestHub) {
  const url = `${hub.url}/mcp/old`;
  let headers = {};
  let lastId = 0;
  async function ask(method: string, params: object): Promise<string> {
    const body = { jsonrpc: '2.0', id: ++lastId, method, params };
    const response = await post(url, Buffer.from(JSON.stringify(body)), headers);
    const session = response.headers['mcp-session-id'];
    if (session !== undefined) headers = { 'mcp-session-id': String(session) };
    return (await response.setEncoding('utf8').toArray()).join('');
  }
  const clientInfo = { name: 'bystander', version: '1' };
  await ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
  return async () => {
    const secret = `bystander ${lastId}`;
    const text = await ask('tools/call', { name: 'echo', arguments: { secret } });
    assert.equal(text.match(/bystander/g)?.length, 1, `${replay()} ${text}`);
    assert.ok(
      text.includes(`"id":${lastId}`) && text.includes(`"echo ${secret}"`),
      `${replay()} ${text}`,
    );
  };
}

type Open = (
  hub: TestHub,
  server: string | undefined,
  needs: {
    readonly speaker: Parameters<Generator['message']>[0];
    readonly check: (bytes: Buffer) => void;
  },
) => Promise<WireClient>;

async function fuzz(
  hub: TestHub,
  open: Open,
  era: 'legacy' | 'modern',
  count: number,
  ofSeed: number,
) {
  const generator = createGenerator(ofSeed);
  const secrets = createSecrets();
  const watch = await openBystander(hub);
  const servers = [undefined, 'old', 'new'];
  let opened = 0;
  for (let sent = 0; sent < count; sent += clientsAtOnce * perClient) {
    const clients = await Promise.all(
      Array.from({ length: clientsAtOnce }, async () => {
        const server = servers[opened++ % servers.length];
        const prefix = server === undefined ? 'old_' : '';
        const speaker = { secret: secrets.create(), prefix, era };
        return await open(hub, server, {
          speaker,
          check: bytes => secrets.check(speaker.secret, bytes),
        });
      }),
    );
    for (let round = 0; round < perClient / burst; round++)
      await Promise.all([watch(), ...clients.map(client => client.send(burst, generator))]);
    for (const client of clients) client.close();
  }
  await watch();
}

async function fuzzedHub() {
  return await startHub(
    [
      { ...whisper, name: 'old', era: 'legacy' },
      { ...whisper, name: 'new', era: 'modern', env: { ERA: 'modern' } },
    ],
    { streamable: { idleMs: 2_000 } },
  );
}

const overWire =
  (openWire: OpenWire): Open =>
  (hub, server, needs) =>
    openStreamClient(hub, server, openWire, needs);

const cases: readonly (readonly [
  name: string,
  part: number,
  era: 'legacy' | 'modern',
  open: Open,
])[] = [
  ...wires.map(
    ([name, openWire], index) =>
      [name, [0.05, 0.02, 0.035, 0.035][index] ?? 0, 'legacy', overWire(openWire)] as const,
  ),
  ['streamable HTTP', 0.03, 'legacy', openHttpClient],
  ['streamable HTTP without sessions', 0.03, 'modern', openModernClient],
];

describe('whatever clients send', () => {
  test.for(cases)(
    'each request is answered once, and to whoever asked, over %s',
    { timeout },
    async ([, part, era, open]) => {
      await using hub = await fuzzedHub();
      const over = () => hub.connections.size === 0 && hub.router.inFlight === 0;
      await fuzz(hub, open, era, share(part / 5), seed);
      await until(over);
      const before = await memoryInUse();
      await fuzz(hub, open, era, share(part), seed + 1);
      await until(over);
      await until(() => hub.streamable.sessionCount === 0 && hub.router.sessionCount === 0);
      expect(
        hub.logged.filter(({ level }) => level === 'error'),
        replay(),
      ).toEqual([]);
      Reflect.set(hub.logged, 'length', 0);
      expect(uncaught).toEqual([]);
      expect(hub.servers.all.map(({ status }) => status.state)).toEqual(['running', 'running']);
      expect((await memoryInUse()) - before, replay()).toBeLessThan(maxGrowthBytes);
    },
  );
});
