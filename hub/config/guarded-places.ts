import { join } from 'node:path';
import type { Environment } from './expand-variables.ts';

/** A file or folder that mounts must not expose. */
export type GuardedPlace = {
  /** Absolute, symbolic links not resolved. */
  readonly path: string;
  /** Description for messages, such as "the hub's data folder". */
  readonly what: string;
  /**
   * `run`: programs on this machine execute it or are configured by it, so no server may write there. `secret`: it
   * contains keys, which a server may read only with `allow_sensitive`. `both`: both.
   */
  readonly kind: 'run' | 'secret' | 'both';
};

type User = { readonly home: string; readonly env: Environment };

/** Shell startup files in the home folder. */
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

/** Shell startup files of all users. */
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

/** Variables that move one of these files elsewhere. */
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

/** Guarded places of a user, and of the whole machine. */
export function placesOfUser({ home, env }: User): readonly GuardedPlace[] {
  const config = absolutePathIn(env, 'XDG_CONFIG_HOME') ?? join(home, '.config');
  const inHome = (names: readonly string[]) => names.map(name => join(home, name));
  const inConfig = (names: readonly string[]) => names.map(name => join(config, name));
  const zsh = absolutePathIn(env, 'ZDOTDIR');
  const shell = 'shell startup files';
  const cron = 'cron jobs';
  const units = 'systemd units';
  const browser = 'a browser profile';
  const keys = 'keys or passwords of this user';
  const set = (names: readonly string[]) =>
    names.flatMap(name => listOf(absolutePathIn(env, name)));
  return [
    ...places('both', 'SSH keys', inHome(['.ssh'])),
    ...places('both', 'GnuPG keys', [
      join(home, '.gnupg'),
      ...listOf(absolutePathIn(env, 'GNUPGHOME')),
    ]),
    ...places('run', shell, [
      ...inHome(startUpFiles),
      ...inConfig(['fish', 'zsh', 'bash', 'powershell', 'environment.d']),
      ...(zsh === undefined ? [] : [zsh]),
      ...startUpOfAll,
      ...set(['BASH_ENV', 'ENV']),
    ]),
    ...places('run', cron, cronFolders),
    ...places('run', units, [
      ...systemdFolders,
      ...inConfig(['systemd']),
      ...inHome(['.local/share/systemd']),
    ]),
    ...places('run', 'programs that start when this user logs in', [
      ...inConfig(['autostart']),
      ...inHome(['Library/LaunchAgents', 'AppData/Roaming/Microsoft/Windows/Start Menu']),
    ]),
    ...places('run', 'programs of this user', inHome(['bin', '.local/bin'])),
    ...places(
      'run',
      'the config of agents and editors, which run programs from it',
      inHome(['.claude', '.codex', '.cursor', '.gemini', '.codeium', '.vscode']),
    ),
    ...places('run', 'the git config, which can run programs', [
      ...inHome(['.gitconfig']),
      ...inConfig(['git']),
    ]),
    ...places('secret', browser, [...inHome(browserFolders), ...inConfig(browsersInConfig)]),
    ...places('secret', 'a keyring', inHome(keyrings)),
    ...places('secret', keys, [
      ...inHome(credentialFiles),
      ...inConfig(credentialsInConfig),
      ...set(secretVariables),
      ...(absolutePathIn(env, 'KUBECONFIG')?.split(/[:;]/) ?? []).filter(path =>
        path.startsWith('/'),
      ),
    ]),
    ...places('secret', 'keys or passwords of this machine', secretsOfAll),
  ];
}

const places = (
  kind: GuardedPlace['kind'],
  what: string,
  paths: readonly string[],
): readonly GuardedPlace[] => paths.map(path => ({ path, what, kind }));

/** The value of a variable if it is an absolute path. Relative paths do not identify a place. */
function absolutePathIn(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value !== undefined && /^(?:\/|[A-Za-z]:[\\/])/.test(value) ? value : undefined;
}

const listOf = (path: string | undefined): readonly string[] => (path === undefined ? [] : [path]);
