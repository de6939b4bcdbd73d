import { isObject } from '#core';
import { type Command, type Run, hubOptions } from '../command.ts';
import { openHub } from '../hub-client.ts';
import { openMcp } from '../mcp.ts';
import { type Described, fieldsOf, objectsIn } from '../responses.ts';
import { type Cell, durationOf, tableOf } from '../table.ts';

/** `agenthub list`: shows the servers of a hub and their states, or their tools. */
export const list: Command = {
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
  run: async run => await (run.values['tools'] === true ? listTools : listAll)(run),
};

async function listAll(run: Run): Promise<0> {
  const { isJson, json, out, screen, clock } = run;
  const hub = await openHub(run);
  const answer = await hub.ask({ method: 'GET', path: '/servers' });
  if (isJson) return json(answer);
  const rows = objectsIn(fieldsOf(answer)['servers']).map(server => rowOf(server, clock.now()));
  const head = ['NAME', 'STATE', 'TOOLS', 'RESTARTS', 'UPTIME', 'NOTE'];
  if (rows.length > 0) out(tableOf(head, rows, screen).join('\n'));
  else out(`The hub at ${hub.url} has no servers. Add one with "agenthub add <package>".`);
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
      if (isObject(server['refused_entry'])) return String(server['refused_entry']['message']);
      return Array.isArray(server['unknown_tools'])
        ? `"tools" names tools that it does not have: ${server['unknown_tools'].join(', ')}`
        : '';
    default:
      return typeof server['why'] === 'string' ? server['why'] : '';
  }
}

async function listTools(run: Run): Promise<0> {
  const { isJson, json, out, screen, needs } = run;
  const hub = await openHub(run);
  await using mcp = await openMcp(hub, undefined, needs.version);
  const tools = await mcp.listTools();
  if (isJson) return json({ tools });
  const rows = tools.map(({ name, description = '' }) => [
    name,
    description.split('\n').find(line => line.trim() !== '') ?? '',
  ]);
  if (rows.length > 0) out(tableOf(['TOOL', 'DESCRIPTION'], rows, screen).join('\n'));
  else out(`The hub at ${hub.url} has no tools. "agenthub list" shows its servers.`);
  return 0;
}
