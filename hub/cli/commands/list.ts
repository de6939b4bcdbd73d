import { isObject } from '#core';
import { type Command, type Run, hubOptions } from '../command.ts';
import { type HubClient, openHub } from '../hub-client.ts';
import { openMcp } from '../mcp.ts';
import { partsOfHub } from '../ollama-report.ts';
import { type Described, fieldsOf, objectsIn, tokensOf } from '../responses.ts';
import { type Cell, durationOf, showTable } from '../table.ts';

/** `agenthub list`: shows the servers of a hub and their states, or their tools. */
export const list: Command = {
  name: 'list',
  summary: 'List the servers of the running hub, or their tools.',
  options: {
    tools: { help: 'List the tools, by the names that clients use.' },
    tokens: { help: 'Show what the definitions of the tools cost a model, in tokens.' },
    ...hubOptions,
  },
  details: [
    '--json prints the response of GET /servers: {"servers": [{"name", "state", "tools", ...}], "collisions": [...]}. With --tools: {"tools": [{"name", "description", "inputSchema", ...}]}, as in MCP. With --tokens: that of GET /tools.',
    'Tokens are counted with the encoding o200k_base, over the name, the description and the schema of the arguments of each tool that is on. The models of other makers count a little differently.',
  ],
  examples: [
    ['list', 'Show the servers and their states'],
    ['list --tools', 'Show all tools'],
    ['list --tools --tokens', 'Show what each tool costs'],
    [
      `list --json | jq -r '.servers[] | select(.state != "running").name'`,
      'Names of the servers that are not running',
    ],
  ],
  async run(run) {
    const { tools, tokens } = run.values;
    if (tools === true) return await (tokens === true ? listTokens : listTools)(run);
    return await listAll(run);
  },
};

async function listAll(run: Run): Promise<0> {
  const { isJson, json, out, remark, errorScreen, clock } = run;
  const hub = await openHub(run);
  const costs = run.values['tokens'] === true ? await readCosts(hub) : undefined;
  if (isJson && costs) return json(costs.answer);
  const answer = await hub.ask({ method: 'GET', path: '/servers' });
  if (isJson) return json(answer);
  const servers = objectsIn(fieldsOf(answer)['servers']);
  const rows = servers.map(server => {
    const cost = costs?.servers.find(one => one['server'] === server['name']);
    return rowOf(server, costs ? [tokensOf(cost)] : [], clock.now());
  });
  const head = ['NAME', 'STATE', 'TOOLS', ...(costs ? ['TOKENS'] : [])];
  const none = `The hub at ${hub.url} has no servers. Add one with "agenthub add <package>".`;
  showTable([...head, 'RESTARTS', 'UPTIME', 'NOTE'], rows, none, run);
  if (rows.length > 0 && costs) out(`All tools that are on: ${tokensOf(costs.answer)} tokens`);
  // Users who have just edited the config look at this table, so warn if the edit is not applied.
  const { state, detail } = fieldsOf((await partsOfHub(hub))['config']);
  if (state === 'degraded') remark('warning', `config: ${errorScreen.foreign(String(detail))}`);
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

function rowOf(server: Described, costs: readonly string[], now: number): readonly Cell[] {
  const state = String(server['state']);
  const since = Date.parse(String(server['started_at']));
  return [
    String(server['name']),
    { text: state, style: styles[state] ?? 'dim' },
    String(server['tools']),
    ...costs,
    String(server['restart_count']),
    Number.isNaN(since) ? '' : durationOf(now - since),
    noteOf(server),
  ];
}

/** Returns the most useful detail about a server in its current state. */
function noteOf(server: Described): string {
  if (typeof server['waiting'] === 'string') return server['waiting'];
  if (server['enabled'] === false) return 'disabled';
  switch (server['state']) {
    case 'starting':
      return String(server['progress']);
    case 'stopped':
      if (server['start'] === 'manual') return 'is started by hand';
      return server['stopped_by_hand'] === true ? 'stopped by hand' : 'starts at the first call';
    case 'running':
      if (isObject(server['refused_entry'])) return String(server['refused_entry']['message']);
      if (Array.isArray(server['unknown_tools']))
        return `its entry names tools that it does not have: ${server['unknown_tools'].join(', ')}`;
      return Array.isArray(server['unkept_tools'])
        ? `"cache" names tools without the hints it asks for: ${server['unkept_tools'].join(', ')}`
        : '';
    default:
      return typeof server['why'] === 'string' ? server['why'] : '';
  }
}

async function readCosts(hub: HubClient) {
  const answer = fieldsOf(await hub.ask({ method: 'GET', path: '/tools' }));
  return { answer, servers: objectsIn(answer['servers']) };
}

/** Lists the enabled tools by their token cost, most expensive first. */
async function listTokens(run: Run): Promise<0> {
  const { isJson, json, out } = run;
  const hub = await openHub(run);
  const { answer, servers } = await readCosts(hub);
  if (isJson) return json(answer);
  const rows = servers
    .flatMap(({ tools }) => objectsIn(tools))
    .filter(tool => tool['enabled'] === true && tool['held'] !== true)
    .toSorted((a, b) => Number(b['tokens']) - Number(a['tokens']))
    .map(tool => [String(tool['public_name']), tokensOf(tool)]);
  showTable(['TOOL', 'TOKENS'], rows, noTools(hub), run);
  if (rows.length > 0) out(`All: ${tokensOf(answer)} tokens`);
  return 0;
}

const noTools = ({ url }: HubClient) =>
  `The hub at ${url} has no tools. "agenthub list" shows its servers.`;

async function listTools(run: Run): Promise<0> {
  const { isJson, json, needs } = run;
  const hub = await openHub(run);
  await using mcp = await openMcp(hub, undefined, needs.version);
  const tools = await mcp.listTools();
  if (isJson) return json({ tools });
  const rows = tools.map(({ name, description = '' }) => [
    name,
    description.split('\n').find(line => line.trim() !== '') ?? '',
  ]);
  showTable(['TOOL', 'DESCRIPTION'], rows, noTools(hub), run);
  return 0;
}
