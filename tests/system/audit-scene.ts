// Shared by the tests of the audit log: hubs with two servers, clients, and the lines that a hub has written.
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { verifyAudit } from '#audit';
import { refusal } from '#helpers/eras';
import {
  type HubProcess,
  type HubProcessOptions,
  startHub,
  states,
  until,
} from '#helpers/hub-process';

const root = join(import.meta.dirname, '../..');
export const fixture = (file: string, entry: object = {}) => ({
  command: process.execPath,
  args: [join(root, 'tests/fixtures/servers', file)],
  runtime: 'process',
  auto_start: true,
  ...entry,
});
export const servers = { echo: fixture('echo.mjs'), quick: fixture('echo.mjs', { timeout: 1 }) };

/** Config of a hub with one server. */
export const onlyEcho = { servers: { echo: servers.echo } };

type Line = Readonly<Record<string, unknown>>;

export async function textsOf(dataDir: string): Promise<readonly string[]> {
  const folder = join(dataDir, 'audit');
  const names = (await readdir(folder)).filter(name => name.endsWith('.jsonl')).sort();
  const texts = await Promise.all(names.map(name => readFile(join(folder, name), 'utf8')));
  return texts.flatMap(text => text.split('\n').slice(0, -1));
}

/** Reads the lines of the audit log. */
export async function linesOf(dataDir: string): Promise<readonly Line[]> {
  return (await textsOf(dataDir)).map((text): Line => JSON.parse(text));
}

export const callsIn = (lines: readonly Line[]) => lines.filter(({ kind }) => kind === 'call');
export const problemsOf = async ({ dataDir }: HubProcess) =>
  (await verifyAudit(join(dataDir, 'audit'))).problems;

export async function connectOver(transport: Transport) {
  const client = new Client({ name: 'over', version: '1' });
  await client.connect(transport);
  return {
    call: async (name: string, args: Record<string, unknown>) =>
      await client.callTool({ name, arguments: args }),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

export const connectWebSocket = async ({ url }: HubProcess) =>
  await connectOver(new WebSocketClientTransport(new URL(`${url.replace('http', 'ws')}/mcp`)));

/** Starts a hub and waits until its servers run. */
export async function startReady(options: Partial<HubProcessOptions> = {}): Promise<HubProcess> {
  const hub = await startHub({ config: { servers }, ...options });
  await until(
    () => states(hub),
    found => Object.values(found).every(state => state === 'running'),
    20_000,
  );
  return hub;
}

export async function post(hub: HubProcess, path: string, body?: object) {
  return await fetch(`${hub.url}${path}`, {
    method: 'POST',
    headers: { ...hub.ownerHeaders, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
}

/** Tool of a call that ends each test. Lines are written in order, so earlier ones are written by then. */
const last = 'last_of_its_test';

/** Returns the lines that a running hub writes for the calls of `makeCalls`. */
export async function linesOfCallsBy(
  hub: HubProcess,
  makeCalls: () => Promise<void>,
): Promise<readonly Line[]> {
  const before = await linesOf(hub.dataDir);
  await makeCalls();
  await using client = await connectWebSocket(hub);
  await refusal(client.call(last, {}));
  const lines = await until(
    async () => (await linesOf(hub.dataDir)).slice(before.length),
    found => found.some(({ name }) => name === last),
    5_000,
  );
  return callsIn(lines).filter(({ name }) => name !== last);
}
