import { setTimeout as pause } from 'node:timers/promises';
import { findClosest } from '#config';
import { HubError } from '#core';
import type { Io } from './command.ts';
import { type HubClient, listServers } from './hub-client.ts';
import type { Mcp, Tool } from './mcp.ts';

type Described = Awaited<ReturnType<typeof listServers>>[number];

/** Maximum wait in ms. Longer than the first start of a server, which builds its image. */
const maxWaitMs = 5 * 60_000;
/** Interval in ms at which the hub is asked which servers are starting. */
const pollIntervalMs = 500;

/**
 * Finds a tool by name, of one server or of all. Waits while servers start, and looks again when one has started.
 * Rejects with HUB_NAME_UNKNOWN, naming the servers whose tools are unknown, and like `ask`.
 */
export async function findTool(
  name: string,
  server: string | undefined,
  { mcp, hub }: { readonly mcp: Mcp; readonly hub: HubClient },
  { progress, signal }: Pick<Io, 'progress' | 'signal'>,
): Promise<Tool> {
  const end = performance.now() + maxWaitMs;
  let tools: readonly Tool[] = [];
  let looked: string | undefined;
  for (;;) {
    // Query the servers before the tools, so that the tools of a server that just became ready are included.
    const servers = (await listServers(hub)).filter(
      each => server === undefined || each['name'] === server,
    );
    const starting = servers.filter(({ state }) => state === 'starting');
    const names = starting.map(each => each['name']).join();
    if (names !== looked) tools = await mcp.listTools();
    looked = names;
    const found = tools.find(tool => tool.name === name);
    if (found) return found;
    if (starting.length === 0 || performance.now() > end) throw unknownTool(name, tools, servers);
    progress(`waiting for ${starting.map(withState).join(', ')}`);
    await pause(pollIntervalMs, undefined, { signal });
  }
}

function unknownTool(
  name: string,
  tools: readonly Tool[],
  servers: readonly Described[],
): HubError {
  const untold = servers.filter(
    ({ state, enabled, tools: count }) => state !== 'running' && enabled !== false && count === 0,
  );
  const others =
    untold.length === 0
      ? ''
      : `. The tools of these servers are not known yet: ${untold.map(withState).join(', ')}`;
  return new HubError(
    'HUB_NAME_UNKNOWN',
    withGuess(`no tool is called ${JSON.stringify(name)}${others}`, name, tools),
  );
}

const withState = ({ name, state, progress, why }: Described) =>
  `${String(name)} (${[state, progress ?? why ?? []].flat().map(String).join(': ')})`;

/** Adds a guess at the tool that was meant to a message. */
export function withGuess(
  message: string,
  name: string,
  tools: readonly { readonly name: string }[],
): string {
  const meant = findClosest(
    name,
    tools.map(tool => tool.name),
  );
  return `${message}. ${meant === undefined ? '"agenthub list --tools" lists all tools' : `Did you mean ${JSON.stringify(meant)}?`}`;
}
