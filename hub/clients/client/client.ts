import { readdir } from 'node:fs/promises';
import { posix, win32 } from 'node:path';
import type { ClientFormat } from './text.ts';

/** Clients that the hub can be connected to. */
export const clientNames = [
  'claude-code',
  'claude-desktop',
  'vscode',
  'cursor',
  'windsurf',
  'codex',
  'gemini-cli',
  'qwen-code',
  'copilot-cli',
  'opencode',
  'raycast',
] as const;

export type ClientName = (typeof clientNames)[number];

/** Scope of a client's settings: the user, or one workspace folder. */
export type ClientScope = 'user' | 'workspace';

/** The name of a client and the layout of its file. */
type ClientProfile = {
  readonly title: string;
  /** Sentence that tells the user how to make the client reload its file. */
  readonly next: string;
  readonly format: ClientFormat;
  /** Path of the object in the file that contains the servers by name. */
  readonly servers: readonly string[];
};

const json = { format: 'json', servers: ['mcpServers'] } as const;

export const clients: Readonly<Record<ClientName, ClientProfile>> = {
  'claude-code': {
    ...json,
    title: 'Claude Code',
    next: 'Start a new session of Claude Code; /mcp shows it there.',
  },
  'claude-desktop': {
    ...json,
    title: 'Claude Desktop',
    next: 'Quit Claude Desktop, not only its window, and open it again.',
  },
  vscode: {
    format: 'json',
    servers: ['servers'],
    title: 'VS Code',
    next: 'In VS Code, start it with "MCP: List Servers".',
  },
  cursor: { ...json, title: 'Cursor', next: 'Switch it on in the MCP settings of Cursor.' },
  windsurf: {
    ...json,
    title: 'Windsurf',
    next: 'Press "Refresh" in the MCP server list of Windsurf.',
  },
  codex: {
    format: 'toml',
    servers: ['mcp_servers'],
    title: 'Codex',
    next: 'Start Codex again; /mcp shows it there.',
  },
  'gemini-cli': {
    ...json,
    title: 'Gemini CLI',
    next: 'Start Gemini CLI again; /mcp shows it there.',
  },
  'qwen-code': { ...json, title: 'Qwen Code', next: 'Start Qwen Code again; /mcp shows it there.' },
  'copilot-cli': {
    ...json,
    title: 'Copilot CLI',
    next: 'Start Copilot CLI again; /mcp shows it there.',
  },
  opencode: {
    format: 'json',
    servers: ['mcp'],
    title: 'opencode',
    next: 'Start opencode again; /status shows it there.',
  },
  raycast: { ...json, title: 'Raycast', next: 'In Raycast, add it with "Install MCP Server".' },
};

/** Properties of a machine that decide where clients store their files. */
export type ClientMachine = {
  readonly platform: string;
  readonly home: string;
  /** Absolute path of the workspace folder. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** On Windows, the folder names in `%LOCALAPPDATA%\Packages`, where apps of the Windows store have their files. */
  readonly packages: readonly string[];
};

/** Adds the names of installed Windows store apps, which decide where some clients store their files. */
export async function findMachine(known: Omit<ClientMachine, 'packages'>): Promise<ClientMachine> {
  if (known.platform !== 'win32') return { ...known, packages: [] };
  return { ...known, packages: await readdir(packagesFolder(known)).catch(() => []) };
}

/** Returns the path of the file with a client's servers; undefined if the client has no such file for the scope. */
export function configFileOf(
  client: ClientName,
  scope: ClientScope,
  machine: ClientMachine,
): string | undefined {
  const join = joinOf(machine);
  const { home, folder } = machine;
  const fromEnv = (name: string) => machine.env[name]?.trim() || undefined;
  const places: Readonly<Record<ClientName, Readonly<Partial<Record<ClientScope, string>>>>> = {
    'claude-code': {
      user: join(fromEnv('CLAUDE_CONFIG_DIR') ?? home, '.claude.json'),
      workspace: join(folder, '.mcp.json'),
    },
    'claude-desktop': { user: join(claudeFolder(machine), 'claude_desktop_config.json') },
    vscode: {
      user: join(appFolder(machine), 'Code', 'User', 'mcp.json'),
      workspace: join(folder, '.vscode', 'mcp.json'),
    },
    cursor: {
      user: join(home, '.cursor', 'mcp.json'),
      workspace: join(folder, '.cursor', 'mcp.json'),
    },
    windsurf: { user: join(home, '.codeium', 'windsurf', 'mcp_config.json') },
    codex: {
      user: join(fromEnv('CODEX_HOME') ?? join(home, '.codex'), 'config.toml'),
      workspace: join(folder, '.codex', 'config.toml'),
    },
    'gemini-cli': {
      user: join(fromEnv('GEMINI_CLI_HOME') ?? home, '.gemini', 'settings.json'),
      workspace: join(folder, '.gemini', 'settings.json'),
    },
    'qwen-code': {
      user: join(fromEnv('QWEN_HOME') ?? join(home, '.qwen'), 'settings.json'),
      workspace: join(folder, '.qwen', 'settings.json'),
    },
    'copilot-cli': {
      user: join(fromEnv('COPILOT_HOME') ?? join(home, '.copilot'), 'mcp-config.json'),
    },
    opencode: {
      user: join(fromEnv('XDG_CONFIG_HOME') ?? join(home, '.config'), 'opencode', 'opencode.json'),
      workspace: join(folder, 'opencode.json'),
    },
    raycast: {},
  };
  return places[client][scope];
}

/** Returns the config files of all clients, even those that do not exist. */
export const allConfigFiles = (machine: ClientMachine) =>
  clientNames.flatMap(client =>
    (['user', 'workspace'] as const).flatMap(scope => {
      const file = configFileOf(client, scope, machine);
      return file === undefined ? [] : [{ client, scope, file }];
    }),
  );

const joinOf =
  ({ platform }: ClientMachine) =>
  (...parts: readonly string[]) =>
    (platform === 'win32' ? win32 : posix).join(...parts);

/** Returns the folder for settings of desktop apps. */
function appFolder({ platform, home, env }: ClientMachine): string {
  if (platform === 'win32') return env['APPDATA'] || win32.join(home, 'AppData', 'Roaming');
  if (platform === 'darwin') return posix.join(home, 'Library', 'Application Support');
  return env['XDG_CONFIG_HOME'] || posix.join(home, '.config');
}

/**
 * Returns the folder of Claude Desktop. On Windows it may be a store app, whose files are in the app's package folder.
 */
function claudeFolder(machine: ClientMachine): string {
  const { platform, home, env, packages } = machine;
  const join = joinOf(machine);
  const own = platform === 'win32' ? packages.find(name => /^Claude_\w+$/.test(name)) : undefined;
  if (own === undefined) return join(appFolder(machine), 'Claude');
  return join(packagesFolder({ home, env }), own, 'LocalCache', 'Roaming', 'Claude');
}

const packagesFolder = ({ home, env }: Pick<ClientMachine, 'home' | 'env'>): string =>
  win32.join(env['LOCALAPPDATA'] || win32.join(home, 'AppData', 'Local'), 'Packages');
