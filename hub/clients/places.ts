import { posix, win32 } from 'node:path';
import { type ClientName, type Scope, clientNames } from './client.ts';

/** What decides where clients keep their files. */
export type Machine = {
  /** As `process.platform` says it. */
  readonly platform: string;
  /** Absolute. */
  readonly home: string;
  /** The folder of the workspace, absolute. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** On Windows, the names of the folders in `Packages` of LOCALAPPDATA: apps of the store see no other. */
  readonly packages: readonly string[];
};

/** The file in which a client keeps its servers; undefined where it has none of that scope. */
export function placeOf(client: ClientName, scope: Scope, machine: Machine): string | undefined {
  const join = joinOf(machine);
  const { home, folder } = machine;
  const said = (name: string) => machine.env[name]?.trim() || undefined;
  const places: Readonly<Record<ClientName, Readonly<Partial<Record<Scope, string>>>>> = {
    'claude-code': {
      user: join(said('CLAUDE_CONFIG_DIR') ?? home, '.claude.json'),
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
      user: join(said('CODEX_HOME') ?? join(home, '.codex'), 'config.toml'),
      workspace: join(folder, '.codex', 'config.toml'),
    },
    raycast: {},
  };
  return places[client][scope];
}

/** The files of all clients, whether they are there or not. */
export const filesOfClients = (machine: Machine): readonly string[] =>
  clientNames.flatMap(client =>
    (['user', 'workspace'] as const).flatMap(scope => placeOf(client, scope, machine) ?? []),
  );

const joinOf =
  ({ platform }: Machine) =>
  (...parts: readonly string[]) =>
    (platform === 'win32' ? win32 : posix).join(...parts);

/** Where the apps of a user keep what they are told. */
function appFolder({ platform, home, env }: Machine): string {
  if (platform === 'win32') return env['APPDATA'] || win32.join(home, 'AppData', 'Roaming');
  if (platform === 'darwin') return posix.join(home, 'Library', 'Application Support');
  return env['XDG_CONFIG_HOME'] || posix.join(home, '.config');
}

/** On Windows the app is a package, whose files are apart from those of all others. */
function claudeFolder(machine: Machine): string {
  const { platform, home, env, packages } = machine;
  const join = joinOf(machine);
  const own = platform === 'win32' ? packages.find(name => /^Claude_\w+$/.test(name)) : undefined;
  if (own === undefined) return join(appFolder(machine), 'Claude');
  return join(packagesFolder({ home, env }), own, 'LocalCache', 'Roaming', 'Claude');
}

/** Where Windows keeps what belongs to apps of its store. */
export const packagesFolder = ({ home, env }: Pick<Machine, 'home' | 'env'>): string =>
  win32.join(env['LOCALAPPDATA'] || win32.join(home, 'AppData', 'Local'), 'Packages');
