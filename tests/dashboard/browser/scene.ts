import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import Docker from 'dockerode';
import type { Page } from 'playwright-core';
import { type Visit, visit } from '#helpers/browser';
import { engineHost } from '#helpers/engine-probe';
import { type HubProcess, startHub, states, until } from '#helpers/hub-process';
import { type OllamaDouble, startOllama } from '../../doubles/ollama.ts';
import { inContainer, inProcess } from '../../faults/scene.ts';

/** Hub with servers in several states. */
export type Dashboard = AsyncDisposable & {
  readonly hub: HubProcess;
  readonly ollama: OllamaDouble;
  /** Returns the container of a server. */
  container(server: string): Docker.Container;
  /**
   * Calls `look` with a new page of this hub, or of another hub if the options name one. `visit` defines which events
   * count as errors.
   */
  visit<T>(look: (page: Page) => Promise<T>, options?: Partial<Visit>): Promise<T>;
};

/** One server of each kind: three that run, one that starts on demand, and one that cannot start. */
const servers = {
  calendar: inContainer('calendar.mjs'),
  notes: inContainer('stateful.mjs'),
  archive: inContainer('echo.mjs', { auto_start: false, restart: 'temporary' }),
  weather: inContainer('exit-at-once.mjs', { restart: 'temporary' }),
  studio: inContainer('studio.mjs'),
};

/** Source of a server in one argument, so that it needs nothing but the image. */
export const inlineServer = `
  require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
    const { id, method } = JSON.parse(line);
    const results = {
      initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'fresh', version: '1.0.0' } },
      'tools/list': { tools: [{ name: 'greet', inputSchema: { type: 'object' } }] },
    };
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }));
  });
`.replaceAll(/\s+/g, ' ');

/** States that the servers reach. */
const usualStates = {
  calendar: 'running',
  notes: 'running',
  studio: 'running',
  weather: 'failed',
};

type Scenery = {
  readonly servers: Readonly<Record<string, object>>;
  readonly states: Readonly<Record<string, string>>;
  readonly withinMs: number;
};

const usual: Scenery = { servers, states: usualStates, withinMs: 60_000 };

/**
 * The usual servers, as processes unless they fail or are killed. Processes restart ten times as fast as containers.
 */
export const mostlyProcesses: Scenery = {
  ...usual,
  servers: {
    ...servers,
    calendar: inProcess('calendar.mjs'),
    notes: inProcess('stateful.mjs'),
    studio: inProcess('studio.mjs'),
  },
};

/** Opens the dashboard. Resolves when the servers have reached their states. */
export async function openDashboard(scenery: Scenery = usual): Promise<Dashboard> {
  await using opened = new AsyncDisposableStack();
  const hubName = `dashboard-${randomUUID().slice(0, 8)}`;
  const docker = new Docker({ socketPath: engineHost.replace('unix://', '') });
  opened.defer(async () => {
    const filters = JSON.stringify({ label: [`com.docker.compose.project=${hubName}`] });
    for (const { Id } of await docker.listContainers({ all: true, filters }))
      await docker.getContainer(Id).remove({ force: true });
  });
  const ollama = opened.use(await startOllama());
  const env = { HUB_NAME: hubName, OLLAMA_HOST: ollama.url, OLLAMA_MODEL: 'llama3.2:3b' };
  const hub = opened.use(await startHub({ config: { servers: scenery.servers }, env }));
  await until(
    () => states(hub),
    found => Object.entries(scenery.states).every(([name, state]) => found[name] === state),
    scenery.withinMs,
  );
  const kept = opened.move();
  return {
    hub,
    ollama,
    container: server => docker.getContainer(`${hubName}-${server}`),
    visit: async (look, options = {}) =>
      await visit(
        {
          baseURL: hub.url,
          // For another hub, the test logs in itself.
          ...(options.baseURL === undefined && { extraHTTPHeaders: hub.ownerHeaders }),
          ...options,
        },
        look,
      ),
    [Symbol.asyncDispose]: async () => await kept.disposeAsync(),
  };
}

/** Connects a client with this name and version. */
export async function connectAs(hub: Pick<HubProcess, 'url'>, name: string, version: string) {
  const client = new Client({ name, version });
  const transport = new StreamableHTTPClientTransport(new URL(`${hub.url}/mcp`));
  await client.connect(transport);
  return {
    /** Calls a tool by its public name, and ignores errors. */
    async call(tool: string, given: Record<string, unknown> = {}): Promise<void> {
      await client.callTool({ name: tool, arguments: given }).catch(() => undefined);
    },
    async [Symbol.asyncDispose]() {
      await transport.terminateSession();
      await client.close();
    },
  };
}

/** Improves a prompt. */
export async function enhance(
  hub: Pick<HubProcess, 'url'>,
  prompt: string,
  client = 'claude-code',
): Promise<void> {
  const answer = await fetch(`${hub.url}/ollama/enhance`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-client-name': client },
    body: JSON.stringify({ prompt }),
  });
  assert.equal(answer.status, 200, await answer.text());
}

/** Calls tools as two clients. Most calls succeed, some fail. */
export async function useServers(hub: Pick<HubProcess, 'url'>, rounds: number): Promise<void> {
  await using one = await connectAs(hub, 'claude-code', '2.1.0');
  await using other = await connectAs(hub, 'cursor', '1.9.2');
  for (let round = 1; round <= rounds; round++) {
    await one.call('calendar_create_event', { title: `Review ${round}`, room: 'Library' });
    await other.call('notes_remember', { text: `Note ${round}` });
    await other.call('notes_slow', { ms: (round * 7) % 40 });
    if (round % 4 === 0) await one.call('calendar_cancel_event', { title: `Review ${round}` });
    if (round % 5 === 0) await other.call('weather_forecast', { city: 'Bern' });
    await one.call('calendar_list_events');
  }
}
