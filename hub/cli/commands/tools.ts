import { HubError } from '#core';
import {
  type Command,
  type ExitCode,
  type Run,
  hubOptions,
  serverOption,
  takenBy,
} from '../command.ts';
import { type HubClient, openHub, pathOfServer } from '../hub-client.ts';
import { type Described, fieldsOf, objectsIn, tokensOf } from '../responses.ts';
import { showTable } from '../table.ts';
import { guess, textOf, textsOf, usageError } from '../values.ts';

const switches = ['enable', 'disable'] as const;
type Switch = (typeof switches)[number];

/** `agenthub tools`: lists the tools of the servers with their cost, and turns them on and off for everybody. */
export const tools: Command = {
  name: 'tools',
  summary: 'List the tools of the servers with their token cost, and turn them on and off.',
  positionals: [
    {
      name: 'words',
      help: 'A server: its tools. "disable TOOL..." or "enable TOOL...": turn tools off and on. Default: the tools of all servers.',
      count: 'any',
      completion: 'tool',
    },
  ],
  options: {
    ...takenBy(
      [undefined, ...switches],
      serverOption(
        "With enable and disable: TOOL is a name of this server's own, not one of /mcp.",
      ),
    ),
    ...hubOptions,
  },
  details: [
    'TOOL is a name as "agenthub tools" shows it. A tool that is off is in no list and refused for everybody, on all endpoints, at once. It is written as "tools": {"deny": [...]} into the config file, where comments stay. To hide tools from some clients only, use "policy" or a profile.',
    'TOKENS is what the definition of a tool costs a model, by the encoding o200k_base.',
    '--json prints the response of GET /tools or GET /servers/{server}/tools; with enable and disable {"servers": [...]}, the servers that changed.',
  ],
  examples: [
    ['tools files', 'List the tools of a server'],
    ['tools disable files_write_file files_move_file', 'Turn two tools off'],
    ['tools enable write_file --server files', 'Turn one on again'],
  ],
  async run(run) {
    const [first, ...rest] = textsOf(run.values, 'words');
    const wanted = switches.find(one => one === first);
    if (wanted === undefined) {
      if (rest.length > 0)
        throw usageError(
          'tools: write "agenthub tools [SERVER]", or enable or disable before TOOL',
        );
      return await show(first ?? textOf(run.values, 'server'), run);
    }
    if (rest.length === 0) throw usageError(`tools: write "agenthub tools ${wanted} TOOL..."`);
    return await turn(wanted, rest, run);
  },
};

async function show(server: string | undefined, run: Run): Promise<ExitCode> {
  const { isJson, json, out } = run;
  const hub = await openHub(run);
  const path = server === undefined ? '/tools' : `${pathOfServer(server)}/tools`;
  const answer = fieldsOf(await hub.ask({ method: 'GET', path }));
  if (isJson) return json(answer);
  const servers = server === undefined ? objectsIn(answer['servers']) : [answer];
  const rows = servers.flatMap(one => objectsIn(one['tools']).map(tool => [one, tool] as const));
  const lines = rows.map(([one, tool]) => [
    String(tool['public_name']),
    String(one['server']),
    stateOf(tool),
    tokensOf(tool),
  ]);
  const none = 'There are no tools. A server that has never run has not told its tools yet.';
  showTable(['TOOL', 'SERVER', 'STATE', 'TOKENS'], lines, none, run);
  if (rows.length > 0) out(`Tools that are on: ${tokensOf(answer)} tokens`);
  return 0;
}

function stateOf({ enabled, held, hidden_by: hiddenBy }: Described): string {
  if (enabled !== true) return `off (${String(hiddenBy)})`;
  return held === true ? 'hidden (changed: see "agenthub pins")' : 'on';
}

async function turn(wanted: Switch, names: readonly string[], run: Run): Promise<ExitCode> {
  const hub = await openHub(run);
  const own = textOf(run.values, 'server');
  const byServer = own === undefined ? await findTools(names, hub) : new Map([[own, names]]);
  const changed: unknown[] = [];
  for (const [server, found] of byServer) {
    const path = `${pathOfServer(server)}/tools`;
    changed.push(await hub.ask({ method: 'POST', path, body: { [wanted]: found } }));
    if (!run.isJson)
      run.out(`${server}: ${found.join(', ')} ${wanted === 'enable' ? 'on' : 'off'}`);
  }
  return run.isJson ? run.json({ servers: changed }) : 0;
}

/** Returns the servers' own tool names for names on `/mcp`, by server. Throws HUB_NAME_UNKNOWN. */
async function findTools(
  names: readonly string[],
  hub: HubClient,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const answer = fieldsOf(await hub.ask({ method: 'GET', path: '/tools' }));
  const all = objectsIn(answer['servers']).flatMap(({ server, tools: list }) =>
    objectsIn(list).map(tool => ({
      server: String(server),
      name: String(tool['name']),
      publicName: String(tool['public_name']),
    })),
  );
  const found = new Map<string, readonly string[]>();
  for (const name of names) {
    const tool = all.find(({ publicName }) => publicName === name);
    if (!tool) {
      const known = all.map(({ publicName }) => publicName);
      throw new HubError(
        'HUB_NAME_UNKNOWN',
        `no tool is called ${JSON.stringify(name)}.${guess(name, known)} "agenthub tools" lists them`,
      );
    }
    found.set(tool.server, [...(found.get(tool.server) ?? []), tool.name]);
  }
  return found;
}
