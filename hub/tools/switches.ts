import type { NextTools, ToolLists, ToolSettings } from '#config';
import { HubError } from '#core';
import { compilePatterns } from '#policy';
import type { ShownTool } from '#routing';
import type { Server } from '#servers';
import type { TokenCounter } from '#tokens';
import { textForModel } from './cost.ts';

/** A tool of a server, and whether clients see it. */
type ToolState = {
  /** Name of the tool at its server. */
  readonly name: string;
  /** Name of the tool on `/mcp`. */
  readonly publicName: string;
  /** False if `tools` in the config hides the tool from all clients. */
  readonly isEnabled: boolean;
  /** Path of the list that hides the tool, such as `servers.files.tools.deny`. */
  readonly hiddenBy: string | undefined;
  /** True if the tool is hidden because its changed definition has not been accepted. */
  readonly isHeld: boolean;
  /** Size of the definition in tokens of a model; undefined if it could not be counted. */
  readonly tokens: number | undefined;
};

export type ToolStates = {
  readonly server: string;
  /** Sum of the tokens of all tools that clients see; undefined if one of them could not be counted. */
  readonly tokens: number | undefined;
  readonly tools: readonly ToolState[];
};

/** Tools to enable and to disable, by their names at the server. */
type ToolChange = {
  readonly enable: readonly string[];
  readonly disable: readonly string[];
};

/** Lists the tools of servers with their token costs, and enables and disables tools. */
export type ToolSwitches = ReturnType<typeof createToolSwitches>;

type Needs = {
  readonly servers: { readonly all: readonly Server[]; get(name: string): Server };
  readonly shownTools: () => ReadonlyMap<Server, readonly ShownTool[]>;
  readonly counter: TokenCounter;
  /** Writes the `tools` lists of a server. Resolves when they are active. */
  readonly changeTools: (server: string, next: NextTools) => Promise<void>;
};

export function createToolSwitches(needs: Needs) {
  const { servers, shownTools, counter, changeTools } = needs;

  async function describe(wanted: readonly Server[]): Promise<readonly ToolStates[]> {
    const shown = shownTools();
    const found = wanted.map(server => ({ server, tools: shown.get(server) ?? [] }));
    const counts = await counter.count(
      found.flatMap(({ tools }) => tools.map(({ bytes }) => textForModel(bytes))),
    );
    let next = 0;
    return found.map(({ server, tools }) => {
      const { name, tools: settings } = server.config;
      const states = tools.map(tool => stateOf(tool, settings, counts[next++]));
      return { server: name, tokens: sumOf(states.filter(isOffered)), tools: states };
    });
  }

  async function of(name: string): Promise<ToolStates> {
    const [found] = await describe([servers.get(name)]);
    if (!found) throw new TypeError('one server has one description');
    return found;
  }

  return {
    list: () => describe(servers.all),
    /** Returns the tools of a server. Rejects with HUB_SERVER_UNKNOWN. */
    of,
    /**
     * Writes `tools.deny` of a server into the config file. Resolves when the change is active. Rejects with
     * HUB_SERVER_UNKNOWN, HUB_NAME_UNKNOWN for a tool that the server does not have, HUB_REQUEST_INVALID for a built-in
     * server, HUB_CONFIG_CONFLICT if a pattern hides a tool to enable, or like other edits of the config file.
     */
    async change(name: string, { enable, disable }: ToolChange): Promise<ToolStates> {
      const server = servers.get(name);
      if (server.isBuiltin)
        throw new HubError(
          'HUB_REQUEST_INVALID',
          `${name} is part of the hub and has no entry in the config: hide its tools with "policy" or a profile`,
        );
      const both = enable.find(tool => disable.includes(tool));
      if (both !== undefined)
        throw new HubError(
          'HUB_REQUEST_INVALID',
          `${JSON.stringify(both)} is in "enable" and in "disable": write it in one of them`,
        );
      requireKnown(server, [...enable, ...disable]);
      await changeTools(name, current => nextLists(name, current, { enable, disable }));
      return await of(name);
    },
  };
}

function stateOf(
  { name, publicName, isHeld }: ShownTool,
  settings: ToolSettings | undefined,
  tokens: number | undefined,
): ToolState {
  const hiddenBy = hidingList(name, settings);
  return { name, publicName, isEnabled: hiddenBy === undefined, hiddenBy, isHeld, tokens };
}

function hidingList(name: string, settings: ToolSettings | undefined): string | undefined {
  const { path = '', allow, deny = [] } = settings ?? {};
  if (compilePatterns(deny)(name)) return `${path}.deny`;
  return allow && !compilePatterns(allow)(name) ? `${path}.allow` : undefined;
}

const isOffered = ({ isEnabled, isHeld }: ToolState) => isEnabled && !isHeld;

const sumOf = (tools: readonly ToolState[]): number | undefined =>
  tools.reduce<number | undefined>(
    (sum, { tokens }) => (sum === undefined || tokens === undefined ? undefined : sum + tokens),
    0,
  );

/** Throws HUB_NAME_UNKNOWN for a tool that the server does not list. Skipped if its list is unknown or empty. */
function requireKnown({ config, listing }: Server, tools: readonly string[]): void {
  const known = new Set([
    ...listing.tool.map(({ key }) => key),
    ...(config.tools?.allow ?? []),
    ...(config.tools?.deny ?? []),
  ]);
  const other = tools.find(tool => !known.has(tool));
  if (other === undefined || listing.tool.length === 0) return;
  throw new HubError(
    'HUB_NAME_UNKNOWN',
    `${config.name} has no tool ${JSON.stringify(other)}. Write the server's own name, as "agenthub tools ${config.name}" shows it`,
    { data: { server: config.name } },
  );
}

/** Returns the lists with these tools enabled and disabled. Throws HUB_CONFIG_CONFLICT if a pattern prevents it. */
function nextLists(
  server: string,
  { allow, deny = [] }: Partial<ToolSettings> = {},
  { enable, disable }: ToolChange,
): ToolLists {
  const left = deny.filter(name => !enable.includes(name));
  const isDenied = compilePatterns(left);
  const hidden = enable.find(isDenied);
  if (hidden !== undefined)
    throw new HubError(
      'HUB_CONFIG_CONFLICT',
      `${hidden} stays hidden: a pattern in "tools.deny" of ${server} matches it (${left.filter(name => name.includes('*')).join(', ')}). Change the pattern in the config file`,
      { data: { server } },
    );
  const isAllowed = allow && compilePatterns(allow);
  const added = isAllowed ? enable.filter(name => !isAllowed(name)) : [];
  return {
    deny: [...left, ...disable.filter(name => !isDenied(name))],
    ...(allow && { allow: [...allow, ...added] }),
  };
}
