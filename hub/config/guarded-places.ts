import { join } from 'node:path';
import type { Environment } from './variables.ts';

/** A file or folder that mounts must not expose. */
export type GuardedPlace = {
  /** Absolute path. Its symbolic links are not resolved. */
  readonly path: string;
  /** Description for messages, such as "the hub's data folder". */
  readonly what: string;
  /**
   * `run`: this machine executes the file or is configured by it, so no server may write to it. `secret`: it contains
   * keys, which a server may read only with `allow_sensitive`. `both`: both restrictions apply.
   */
  readonly kind: 'run' | 'secret' | 'both';
};

type User = { readonly home: string; readonly env: Environment };

/**
 * Descriptions and paths of the guarded places by kind, one path per line. `a/{b c}` stands for `a/b` and `a/c`, and
 * `~` for the home folder. A path in a variable is guarded if it is absolute.
 */
const guarded: Readonly<Record<GuardedPlace['kind'], Readonly<Record<string, string>>>> = {
  both: {
    'SSH keys': '~/.ssh',
    'GnuPG keys': '~/.gnupg\n$GNUPGHOME',
  },
  run: {
    'shell startup files': `~/{.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile}
    ~/{.zshrc .zshenv .zprofile .zlogin .zlogout .oh-my-zsh}
    ~/{.kshrc .cshrc .tcshrc .login .inputrc}
    ~/{.xprofile .xinitrc .xsession .xsessionrc .pam_environment}
    $XDG_CONFIG_HOME/{fish zsh bash powershell environment.d}
    $ZDOTDIR
    /etc/{profile profile.d bash.bashrc bashrc environment zsh zshrc zshenv fish}
    $BASH_ENV
    $ENV`,
    'cron jobs': `/etc/{crontab anacrontab cron.d cron.hourly cron.daily cron.weekly cron.monthly}
    /{var/spool/cron var/spool/anacron var/at usr/lib/cron}`,
    'systemd units': `/{etc/systemd run/systemd lib/systemd usr/lib/systemd usr/local/lib/systemd}
    /{etc/init.d etc/rc.local Library/LaunchAgents Library/LaunchDaemons}
    $XDG_CONFIG_HOME/systemd
    ~/.local/share/systemd`,
    'programs that start when this user logs in': `$XDG_CONFIG_HOME/autostart
    ~/Library/LaunchAgents
    ~/AppData/Roaming/Microsoft/Windows/Start Menu`,
    'programs of this user': '~/{bin .local/bin}',
    'the config of agents and editors, which run programs from it':
      '~/{.claude .codex .cursor .gemini .codeium .vscode}',
    'the git config, which can run programs': '~/.gitconfig\n$XDG_CONFIG_HOME/git',
  },
  secret: {
    'a browser profile': `~/{.mozilla .librewolf .thunderbird .var/app snap}
    ~/Library/Application Support/{Google/Chrome Chromium BraveSoftware}
    ~/Library/Application Support/Microsoft Edge
    ~/Library/Application Support/{Arc Firefox}
    ~/Library/{Safari Cookies}
    ~/AppData/{Local/Google/Chrome Local/Microsoft/Edge Local/BraveSoftware Roaming/Mozilla}
    $XDG_CONFIG_HOME/{google-chrome google-chrome-beta google-chrome-unstable}
    $XDG_CONFIG_HOME/{chromium BraveSoftware microsoft-edge vivaldi opera}`,
    'a keyring': `~/{.local/share/keyrings .gnome2/keyrings .local/share/kwalletd}
    ~/{.kde/share/apps/kwallet .password-store .pki Library/Keychains}
    ~/AppData/{Roaming/Microsoft/Credentials Local/Microsoft/Credentials Roaming/Microsoft/Protect}`,
    'keys or passwords of this user': `~/{.aws .azure .kube .docker .oci .boto .netrc .git-credentials}
    ~/{.config/git/credentials .npmrc .pypirc .pgpass .my.cnf .vault-token}
    ~/{.cargo/credentials.toml .terraform.d/credentials.tfrc.json}
    $XDG_CONFIG_HOME/{gcloud gh hub op doctl containers/auth.json sops}
    $AWS_SHARED_CREDENTIALS_FILE
    $AWS_CONFIG_FILE
    $CLOUDSDK_CONFIG
    $GOOGLE_APPLICATION_CREDENTIALS
    $DOCKER_CONFIG
    $NETRC
    $KUBECONFIG`,
    'keys or passwords of this machine': '/etc/{shadow gshadow ssh ssl/private kubernetes}',
  },
};

/** Guarded places of a user and of the whole machine. */
export const placesOfUser = (user: User): readonly GuardedPlace[] =>
  kinds.flatMap(kind =>
    Object.entries(guarded[kind]).flatMap(([what, paths]) =>
      paths
        .split('\n')
        .flatMap(namesIn)
        .flatMap(path => pathsOf(path, user))
        .map(path => ({ path, what, kind })),
    ),
  );

const kinds = ['both', 'run', 'secret'] as const;

function namesIn(line: string): readonly string[] {
  const [, before, names] = /^\s*(.*)\{(.*)\}$/.exec(line) ?? [];
  return names?.split(' ').map(name => `${before}${name}`) ?? [line.trim()];
}

function pathsOf(path: string, { home, env }: User): readonly string[] {
  if (path.startsWith('~/')) return [join(home, path.slice(2))];
  if (!path.startsWith('$')) return [path];
  const [name = '', ...rest] = path.slice(1).split('/');
  // KUBECONFIG is a list of paths, some of which may be relative.
  if (name === 'KUBECONFIG')
    return (env[name] ?? '').split(/[:;]/).filter(one => one.startsWith('/'));
  const value = absolutePathIn(env, name);
  if (name === 'XDG_CONFIG_HOME') return [join(value ?? join(home, '.config'), ...rest)];
  return value === undefined ? [] : [value];
}

/** Returns the value of a variable if it is an absolute path, since a relative path does not identify a place. */
function absolutePathIn(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value !== undefined && /^(?:\/|[A-Za-z]:[\\/])/.test(value) ? value : undefined;
}
