import type { ClientFormat } from './client-text.ts';

/** Clients that the hub can be put into. */
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

/** For everything that this user does, or for one folder. */
export type Scope = 'user' | 'workspace';

/** How a client is called, and how its file is written. */
export type Client = {
  readonly title: string;
  readonly format: ClientFormat;
  /** Where its servers stand in the file, by name. */
  readonly servers: readonly string[];
  /** What makes it read its file again, as a sentence. */
  readonly next: string;
};

const mcpServers = ['mcpServers'];

/** How each client keeps its servers. */
export const clients: Readonly<Record<ClientName, Client>> = {
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
    next: 'In VS Code, "MCP: List Servers" starts it.',
  },
  cursor: {
    title: 'Cursor',
    format: 'json',
    servers: mcpServers,
    next: 'Switch it on in the settings of Cursor, under MCP.',
  },
  windsurf: {
    title: 'Windsurf',
    format: 'json',
    servers: mcpServers,
    next: 'Press "Refresh" among the MCP servers of Windsurf.',
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
    next: 'In Raycast, "Install MCP Server" takes it.',
  },
};
