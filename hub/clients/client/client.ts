import type { ClientFormat } from './text.ts';

/** Clients that the hub can be connected to. */
export const clientNames = [
  'claude-code',
  'claude-desktop',
  'vscode',
  'cursor',
  'windsurf',
  'codex',
  'raycast',
] as const;

export type ClientName = (typeof clientNames)[number];

/** Settings of the user, or of one workspace folder. */
export type ClientScope = 'user' | 'workspace';

/** The name of a client and the layout of its file. */
export type ClientProfile = {
  readonly title: string;
  readonly format: ClientFormat;
  /** Path of the object with its servers, by name. */
  readonly servers: readonly string[];
  /** How the user makes the client reload its file, as a sentence. */
  readonly next: string;
};

const mcpServers = ['mcpServers'];

/** The profile of each client. */
export const clients: Readonly<Record<ClientName, ClientProfile>> = {
  'claude-code': {
    title: 'Claude Code',
    format: 'json',
    servers: mcpServers,
    next: 'Start a new session of Claude Code; /mcp shows it there.',
  },
  'claude-desktop': {
    title: 'Claude Desktop',
    format: 'json',
    servers: mcpServers,
    next: 'Quit Claude Desktop, not only its window, and open it again.',
  },
  vscode: {
    title: 'VS Code',
    format: 'json',
    servers: ['servers'],
    next: 'In VS Code, start it with "MCP: List Servers".',
  },
  cursor: {
    title: 'Cursor',
    format: 'json',
    servers: mcpServers,
    next: 'Switch it on in the MCP settings of Cursor.',
  },
  windsurf: {
    title: 'Windsurf',
    format: 'json',
    servers: mcpServers,
    next: 'Press "Refresh" in the MCP server list of Windsurf.',
  },
  codex: {
    title: 'Codex',
    format: 'toml',
    servers: ['mcp_servers'],
    next: 'Start Codex again; /mcp shows it there.',
  },
  raycast: {
    title: 'Raycast',
    format: 'json',
    servers: mcpServers,
    next: 'In Raycast, add it with "Install MCP Server".',
  },
};
