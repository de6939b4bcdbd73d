import { posix, win32 } from 'node:path';
import { type ClientName, type ClientScope, clientNames } from './client/client.ts';

/** The properties of a machine that decide where clients keep their files. */
export type ClientMachine = {
  /** A value of `process.platform`. */
  readonly platform: string;
  /** The user's home folder, absolute. */
  readonly home: string;
  /** The workspace folder, absolute. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** On Windows, the folder names in `%LOCALAPPDATA%\Packages`. Store apps have their files there. */
  readonly packages: readonly string[];
};

/** The file with a client's servers; undefined if the client has none of that scope. */
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
    'claude-desktop': {
      user: join(claudeFolder(machine), 'claude_desktop_config.json'),
    },
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
    raycast: {},
  };
  return places[client][scope];
}

/** The files of all clients, existing or not. */
export const allConfigFiles = (machine: ClientMachine): readonly string[] =>
  clientNames.flatMap(client =>
    (['user', 'workspace'] as const).flatMap(scope => configFileOf(client, scope, machine) ?? []),
  );

const joinOf =
  ({ platform }: ClientMachine) =>
  (...parts: readonly string[]) =>
    (platform === 'win32' ? win32 : posix).join(...parts);

/** The folder for settings of desktop apps. */
function appFolder({ platform, home, env }: ClientMachine): string {
  if (platform === 'win32') return env['APPDATA'] || win32.join(home, 'AppData', 'Roaming');
  if (platform === 'darwin') return posix.join(home, 'Library', 'Application Support');
  return env['XDG_CONFIG_HOME'] || posix.join(home, '.config');
}

/** On Windows, Claude Desktop may be a store app, whose files are in its own package folder. */
function claudeFolder(machine: ClientMachine): string {
  const { platform, home, env, packages } = machine;
  const join = joinOf(machine);
  const own = platform === 'win32' ? packages.find(name => /^Claude_\w+$/.test(name)) : undefined;
  if (own === undefined) return join(appFolder(machine), 'Claude');
  return join(packagesFolder({ home, env }), own, 'LocalCache', 'Roaming', 'Claude');
}

/** The folder of store app data on Windows. */
export const packagesFolder = ({ home, env }: Pick<ClientMachine, 'home' | 'env'>): string =>
  win32.join(env['LOCALAPPDATA'] || win32.join(home, 'AppData', 'Local'), 'Packages');
