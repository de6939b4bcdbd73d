import { join } from 'node:path';
import type { Environment } from './env.ts';

/** A file or folder that mounts must not give away. */
export type GuardedPlace = {
  /** Absolute, its links not followed. */
  readonly path: string;
  /** What it is, for the message: "the hub's data folder". */
  readonly what: string;
  /**
   * `run`: what stands there is run on this machine, or decides what is; no server may write there. `secret`: keys
   * stand there, which a server may read only where its entry says `allow_sensitive`. `both`.
   */
  readonly kind: 'run' | 'secret' | 'both';
};

type User = { readonly home: string; readonly env: Environment };

/** Files that shells read when they start, in the home folder. */
const startUpFiles = [
  '.bashrc',
  '.bash_profile',
  '.bash_login',
  '.bash_logout',
  '.bash_aliases',
  '.profile',
  '.zshrc',
  '.zshenv',
  '.zprofile',
  '.zlogin',
  '.zlogout',
  '.oh-my-zsh',
  '.kshrc',
  '.cshrc',
  '.tcshrc',
  '.login',
  '.inputrc',
  '.xprofile',
  '.xinitrc',
  '.xsession',
  '.xsessionrc',
  '.pam_environment',
];

/** Files that the shells of all users read. */
const startUpOfAll = [
  '/etc/profile',
  '/etc/profile.d',
  '/etc/bash.bashrc',
  '/etc/bashrc',
  '/etc/environment',
  '/etc/zsh',
  '/etc/zshrc',
  '/etc/zshenv',
  '/etc/fish',
];

const cronFolders = [
  '/etc/crontab',
  '/etc/anacrontab',
  '/etc/cron.d',
  '/etc/cron.hourly',
  '/etc/cron.daily',
  '/etc/cron.weekly',
  '/etc/cron.monthly',
  '/var/spool/cron',
  '/var/spool/anacron',
  '/var/at',
  '/usr/lib/cron',
];

const systemdFolders = [
  '/etc/systemd',
  '/run/systemd',
  '/lib/systemd',
  '/usr/lib/systemd',
  '/usr/local/lib/systemd',
  '/etc/init.d',
  '/etc/rc.local',
  '/Library/LaunchAgents',
  '/Library/LaunchDaemons',
];

const browserFolders = [
  '.mozilla',
  '.librewolf',
  '.thunderbird',
  '.var/app',
  'snap',
  'Library/Application Support/Google/Chrome',
  'Library/Application Support/Chromium',
  'Library/Application Support/BraveSoftware',
  'Library/Application Support/Microsoft Edge',
  'Library/Application Support/Arc',
  'Library/Application Support/Firefox',
  'Library/Safari',
  'Library/Cookies',
  'AppData/Local/Google/Chrome',
  'AppData/Local/Microsoft/Edge',
  'AppData/Local/BraveSoftware',
  'AppData/Roaming/Mozilla',
];

const browsersInConfig = [
  'google-chrome',
  'google-chrome-beta',
  'google-chrome-unstable',
  'chromium',
  'BraveSoftware',
  'microsoft-edge',
  'vivaldi',
  'opera',
];

const keyrings = [
  '.local/share/keyrings',
  '.gnome2/keyrings',
  '.local/share/kwalletd',
  '.kde/share/apps/kwallet',
  '.password-store',
  '.pki',
  'Library/Keychains',
  'AppData/Roaming/Microsoft/Credentials',
  'AppData/Local/Microsoft/Credentials',
  'AppData/Roaming/Microsoft/Protect',
];

const credentialFiles = [
  '.aws',
  '.azure',
  '.kube',
  '.docker',
  '.oci',
  '.boto',
  '.netrc',
  '.git-credentials',
  '.config/git/credentials',
  '.npmrc',
  '.pypirc',
  '.pgpass',
  '.my.cnf',
  '.vault-token',
  '.cargo/credentials.toml',
  '.terraform.d/credentials.tfrc.json',
];

const credentialsInConfig = ['gcloud', 'gh', 'hub', 'op', 'doctl', 'containers/auth.json', 'sops'];

/** Variables that name another place for one of these. */
const secretVariables = [
  'AWS_SHARED_CREDENTIALS_FILE',
  'AWS_CONFIG_FILE',
  'CLOUDSDK_CONFIG',
  'GOOGLE_APPLICATION_CREDENTIALS',
  'DOCKER_CONFIG',
  'NETRC',
];

const secretsOfAll = [
  '/etc/shadow',
  '/etc/gshadow',
  '/etc/ssh',
  '/etc/ssl/private',
  '/etc/kubernetes',
];

/** What every machine has, of the user with this home folder and of all. */
export function placesOfUser({ home, env }: User): readonly GuardedPlace[] {
  const config = said(env, 'XDG_CONFIG_HOME') ?? join(home, '.config');
  const atHome = (names: readonly string[]) => names.map(name => join(home, name));
  const inConfig = (names: readonly string[]) => names.map(name => join(config, name));
  const zsh = said(env, 'ZDOTDIR');
  const shell = 'what shells run when they start';
  const cron = "cron's jobs";
  const units = "systemd's units";
  const browser = 'the profile of a browser';
  const keys = 'keys or passwords of this user';
  const set = (names: readonly string[]) => names.flatMap(name => listOf(said(env, name)));
  return [
    ...places('both', 'the keys of ssh', atHome(['.ssh'])),
    ...places('both', 'the keys of GnuPG', [
      join(home, '.gnupg'),
      ...listOf(said(env, 'GNUPGHOME')),
    ]),
    ...places('run', shell, [
      ...atHome(startUpFiles),
      ...inConfig(['fish', 'zsh', 'bash', 'powershell', 'environment.d']),
      ...(zsh === undefined ? [] : [zsh]),
      ...startUpOfAll,
      ...set(['BASH_ENV', 'ENV']),
    ]),
    ...places('run', cron, cronFolders),
    ...places('run', units, [
      ...systemdFolders,
      ...inConfig(['systemd']),
      ...atHome(['.local/share/systemd']),
    ]),
    ...places('run', 'what starts when this user logs in', [
      ...inConfig(['autostart']),
      ...atHome(['Library/LaunchAgents', 'AppData/Roaming/Microsoft/Windows/Start Menu']),
    ]),
    ...places('run', 'programs of this user', atHome(['bin', '.local/bin'])),
    ...places(
      'run',
      'what agents and editors run',
      atHome(['.claude', '.codex', '.cursor', '.gemini', '.codeium', '.vscode']),
    ),
    ...places('run', 'what git runs', [...atHome(['.gitconfig']), ...inConfig(['git'])]),
    ...places('secret', browser, [...atHome(browserFolders), ...inConfig(browsersInConfig)]),
    ...places('secret', 'a keyring', atHome(keyrings)),
    ...places('secret', keys, [
      ...atHome(credentialFiles),
      ...inConfig(credentialsInConfig),
      ...set(secretVariables),
      ...(said(env, 'KUBECONFIG')?.split(/[:;]/) ?? []).filter(path => path.startsWith('/')),
    ]),
    ...places('secret', 'keys or passwords of this machine', secretsOfAll),
  ];
}

const places = (
  kind: GuardedPlace['kind'],
  what: string,
  paths: readonly string[],
): readonly GuardedPlace[] => paths.map(path => ({ path, what, kind }));

/** Only an absolute path says where something is. */
function said(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value !== undefined && /^(?:\/|[A-Za-z]:[\\/])/.test(value) ? value : undefined;
}

const listOf = (path: string | undefined): readonly string[] => (path === undefined ? [] : [path]);
