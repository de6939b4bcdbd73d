import { isObject } from '#core';
import { type Command, hubOptions } from '../command.ts';
import { type HubClient, openHub } from '../hub-client.ts';
import { openMcp } from '../mcp.ts';
import type { CliNeeds } from '../needs.ts';
import { type Described, fieldsOf, objectsIn } from '../responses.ts';
import { type Cell, durationOf, tableOf } from '../table.ts';
import type { Io } from '../terminal.ts';

/** `agenthub list`: shows the servers of a hub and their states, or their tools. */
export function createList(needs: CliNeeds): Command {
  return {
    name: 'list',
    summary: 'List the servers of the running hub, or their tools.',
    options: {
      tools: { help: 'List the tools, by the names that clients use.' },
      ...hubOptions,
    },
    details: [
      '--json prints the response of GET /servers: {"servers": [{"name", "state", "tools", ...}], "collisions": [...]}. With --tools: {"tools": [{"name", "description", "inputSchema", ...}]}, as in MCP.',
    ],
    examples: [
      ['list', 'Show the servers and their states'],
      ['list --tools', 'Show all tools'],
      [
        `list --json | jq -r '.servers[] | select(.state != "running").name'`,
        'Names of the servers that are not running',
      ],
    ],
    async run(values, io) {
      const hub = await openHub(needs, values, io);
      return values['tools'] === true
        ? await listTools(hub, needs.version, values['json'] === true, io)
        : await listAll(hub, values['json'] === true, io);
    },
  };
}

async function listAll(hub: HubClient, wantsJson: boolean, io: Io): Promise<0> {
  const answer = await hub.ask({ method: 'GET', path: '/servers' });
  if (wantsJson) return io.json(answer);
  const rows = objectsIn(fieldsOf(answer)['servers']).map(server => rowOf(server, io.clock.now()));
  const head = ['NAME', 'STATE', 'TOOLS', 'RESTARTS', 'UPTIME', 'NOTE'];
  if (rows.length > 0) io.out(tableOf(head, rows, io.screen).join('\n'));
  else io.out(`The hub at ${hub.url} has no servers. Add one with "agenthub add <package>".`);
  return 0;
}

const styles: Readonly<Record<string, 'green' | 'yellow' | 'red' | 'dim'>> = {
  running: 'green',
  starting: 'yellow',
  stopping: 'yellow',
  backing_off: 'yellow',
  unreachable: 'red',
  failed: 'red',
};

function rowOf(server: Described, now: number): readonly Cell[] {
  const state = String(server['state']);
  const since = Date.parse(String(server['started_at']));
  return [
    String(server['name']),
    { text: state, style: styles[state] ?? 'dim' },
    String(server['tools']),
    String(server['restart_count']),
    Number.isNaN(since) ? '' : durationOf(now - since),
    noteOf(server),
  ];
}

/** The most useful detail about a server in its state. */
function noteOf(server: Described): string {
  if (typeof server['waiting'] === 'string') return server['waiting'];
  if (server['enabled'] === false) return 'disabled';
  switch (server['state']) {
    case 'starting':
      return String(server['progress']);
    case 'stopped':
      return server['stopped_by_hand'] === true ? 'stopped by hand' : 'starts at the first call';
    case 'running':
      return isObject(server['refused_entry']) ? String(server['refused_entry']['message']) : '';
    default:
      return typeof server['why'] === 'string' ? server['why'] : '';
  }
}

async function listTools(hub: HubClient, version: string, wantsJson: boolean, io: Io): Promise<0> {
  await using mcp = await openMcp(hub, undefined, version);
  const tools = await mcp.listTools();
  if (wantsJson) return io.json({ tools });
  const rows = tools.map(({ name, description = '' }) => [
    name,
    description.split('\n').find(line => line.trim() !== '') ?? '',
  ]);
  if (rows.length > 0) io.out(tableOf(['TOOL', 'DESCRIPTION'], rows, io.screen).join('\n'));
  else io.out(`The hub at ${hub.url} has no tools. "agenthub list" shows its servers.`);
  return 0;
}
