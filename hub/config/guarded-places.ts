import { join } from 'node:path';
import type { Environment } from './variables.ts';

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

/** Splits paths at spaces and adds a prefix to each. */
const prefixed = (prefix: string, paths: string) => paths.split(' ').map(path => prefix + path);

const macSupport = '~/Library/Application Support/';

/** `~` is the home folder. A path in a variable is guarded if it is absolute. */
const guarded: readonly (Omit<GuardedPlace, 'path'> & { readonly paths: readonly string[] })[] = [
  { kind: 'both', what: 'SSH keys', paths: ['~/.ssh'] },
  { kind: 'both', what: 'GnuPG keys', paths: ['~/.gnupg', '$GNUPGHOME'] },
  {
    kind: 'run',
    what: 'shell startup files',
    paths: [
      ...prefixed('~/', '.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile'),
      ...prefixed('~/', '.zshrc .zshenv .zprofile .zlogin .zlogout .oh-my-zsh'),
      ...prefixed('~/', '.kshrc .cshrc .tcshrc .login .inputrc'),
      ...prefixed('~/', '.xprofile .xinitrc .xsession .xsessionrc .pam_environment'),
      ...prefixed('$XDG_CONFIG_HOME/', 'fish zsh bash powershell environment.d'),
      '$ZDOTDIR',
      ...prefixed(
        '/etc/',
        'profile profile.d bash.bashrc bashrc environment zsh zshrc zshenv fish',
      ),
      '$BASH_ENV',
      '$ENV',
    ],
  },
  {
    kind: 'run',
    what: 'cron jobs',
    paths: [
      ...prefixed(
        '/etc/',
        'crontab anacrontab cron.d cron.hourly cron.daily cron.weekly cron.monthly',
      ),
      ...prefixed('/', 'var/spool/cron var/spool/anacron var/at usr/lib/cron'),
    ],
  },
  {
    kind: 'run',
    what: 'systemd units',
    paths: [
      ...prefixed('/', 'etc/systemd run/systemd lib/systemd usr/lib/systemd usr/local/lib/systemd'),
      ...prefixed('/', 'etc/init.d etc/rc.local Library/LaunchAgents Library/LaunchDaemons'),
      '$XDG_CONFIG_HOME/systemd',
      '~/.local/share/systemd',
    ],
  },
  {
    kind: 'run',
    what: 'programs that start when this user logs in',
    paths: [
      '$XDG_CONFIG_HOME/autostart',
      '~/Library/LaunchAgents',
      '~/AppData/Roaming/Microsoft/Windows/Start Menu',
    ],
  },
  { kind: 'run', what: 'programs of this user', paths: ['~/bin', '~/.local/bin'] },
  {
    kind: 'run',
    what: 'the config of agents and editors, which run programs from it',
    paths: prefixed('~/', '.claude .codex .cursor .gemini .codeium .vscode'),
  },
  {
    kind: 'run',
    what: 'the git config, which can run programs',
    paths: ['~/.gitconfig', '$XDG_CONFIG_HOME/git'],
  },
  {
    kind: 'secret',
    what: 'a browser profile',
    paths: [
      ...prefixed('~/', '.mozilla .librewolf .thunderbird .var/app snap'),
      ...prefixed(macSupport, 'Google/Chrome Chromium BraveSoftware'),
      `${macSupport}Microsoft Edge`,
      ...prefixed(macSupport, 'Arc Firefox'),
      ...prefixed('~/Library/', 'Safari Cookies'),
      ...prefixed('~/AppData/', 'Local/Google/Chrome Local/Microsoft/Edge Local/BraveSoftware'),
      '~/AppData/Roaming/Mozilla',
      ...prefixed('$XDG_CONFIG_HOME/', 'google-chrome google-chrome-beta google-chrome-unstable'),
      ...prefixed('$XDG_CONFIG_HOME/', 'chromium BraveSoftware microsoft-edge vivaldi opera'),
    ],
  },
  {
    kind: 'secret',
    what: 'a keyring',
    paths: [
      ...prefixed('~/', '.local/share/keyrings .gnome2/keyrings .local/share/kwalletd'),
      ...prefixed('~/', '.kde/share/apps/kwallet .password-store .pki Library/Keychains'),
      ...prefixed('~/AppData/', 'Roaming/Microsoft/Credentials Local/Microsoft/Credentials'),
      '~/AppData/Roaming/Microsoft/Protect',
    ],
  },
  {
    kind: 'secret',
    what: 'keys or passwords of this user',
    paths: [
      ...prefixed('~/', '.aws .azure .kube .docker .oci .boto .netrc .git-credentials'),
      ...prefixed('~/', '.config/git/credentials .npmrc .pypirc .pgpass .my.cnf .vault-token'),
      ...prefixed('~/', '.cargo/credentials.toml .terraform.d/credentials.tfrc.json'),
      ...prefixed('$XDG_CONFIG_HOME/', 'gcloud gh hub op doctl containers/auth.json sops'),
      // Variables that move one of these files elsewhere.
      ...prefixed('$', 'AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE CLOUDSDK_CONFIG'),
      ...prefixed('$', 'GOOGLE_APPLICATION_CREDENTIALS DOCKER_CONFIG NETRC KUBECONFIG'),
    ],
  },
  {
    kind: 'secret',
    what: 'keys or passwords of this machine',
    paths: prefixed('/etc/', 'shadow gshadow ssh ssl/private kubernetes'),
  },
];

/** Guarded places of a user, and of the whole machine. */
export const placesOfUser = (user: User): readonly GuardedPlace[] =>
  guarded.flatMap(({ kind, what, paths }) =>
    paths.flatMap(path => pathsOf(path, user)).map(path => ({ path, what, kind })),
  );

function pathsOf(path: string, { home, env }: User): readonly string[] {
  if (path.startsWith('~/')) return [join(home, path.slice(2))];
  if (!path.startsWith('$')) return [path];
  const [name = '', ...rest] = path.slice(1).split('/');
  const value = absolutePathIn(env, name);
  if (name === 'XDG_CONFIG_HOME') return [join(value ?? join(home, '.config'), ...rest)];
  if (value === undefined) return [];
  return name === 'KUBECONFIG' ? value.split(/[:;]/).filter(one => one.startsWith('/')) : [value];
}

/** The value of a variable if it is an absolute path. Relative paths do not identify a place. */
function absolutePathIn(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value !== undefined && /^(?:\/|[A-Za-z]:[\\/])/.test(value) ? value : undefined;
}
