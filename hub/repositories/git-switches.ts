import { HubError } from '#core';

/**
 * Options that stop git from running programs and from leaving the repository, whatever its config says. Values from
 * the environment override all config files.
 */
const switches: Readonly<Record<string, string>> = {
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'core.untrackedCache': 'false',
  'core.sparseCheckout': 'false',
  'core.attributesFile': '/dev/null',
  'core.excludesFile': '/dev/null',
  'core.sshCommand': 'false',
  'core.gitProxy': 'false',
  'core.askPass': 'false',
  'core.editor': 'false',
  'core.pager': 'cat',
  'core.alternateRefsCommand': 'false',
  'core.protectHFS': 'true',
  'core.protectNTFS': 'true',
  'core.safecrlf': 'false',
  'core.quotePath': 'false',
  'sequence.editor': 'false',
  'protocol.allow': 'never',
  'credential.helper': '',
  'submodule.recurse': 'false',
  'commit.gpgSign': 'false',
  'log.showSignature': 'false',
  'gc.auto': '0',
  'maintenance.auto': 'false',
  'merge.default': 'text',
  'merge.autoStash': 'false',
  'merge.renormalize': 'false',
  'worktree.useRelativePaths': 'false',
  'status.submoduleSummary': 'false',
  'diff.ignoreSubmodules': 'none',
  // Git's default. A diff does not show the lines of larger files.
  'core.bigFileThreshold': '512m',
  'i18n.commitEncoding': 'utf-8',
  'i18n.logOutputEncoding': 'utf-8',
};

const variables: Readonly<Record<string, string>> = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  // No transport at all: with protocol.allow alone, protocol.<name>.allow in the repository could permit one.
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_NO_LAZY_FETCH: '1',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_LITERAL_PATHSPECS: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_ADVICE: '0',
  GIT_EDITOR: 'false',
  GIT_SEQUENCE_EDITOR: 'false',
  GIT_PAGER: 'cat',
  GIT_ASKPASS: 'false',
  GIT_SSH_COMMAND: 'false',
  LC_ALL: 'C.UTF-8',
};

/** Options that contain a name, and so must be overridden one by one. The key is a pattern. */
const namedSwitches: readonly (readonly [key: RegExp, value: string])[] = [
  [/^filter\..*\.(?:clean|smudge|process)$/i, ''],
  [/^filter\..*\.required$/i, 'false'],
  // A failing driver is a conflict, which goes to a person; without a driver, git would not merge at all.
  [/^merge\..*\.driver$/i, 'false'],
  [/^diff\..*\.(?:textconv|command)$/i, 'false'],
  // "true" would hide lines of text files from reviews.
  [/^diff\..*\.binary$/i, 'auto'],
];

/** Options that lead out of the repository, or fetch objects while git reads. They cannot be overridden. */
const refused: readonly (readonly [key: RegExp, why: string])[] = [
  [/^include(?:if\..*)?\.path$/i, 'it includes another file'],
  // Newer versions of git read hooks from the config, which core.hooksPath does not disable.
  [/^hook\./i, 'it has hooks in its config'],
  [/^core\.worktree$/i, 'its files are in another folder'],
  [/^extensions\.partialclone$/i, 'it is a partial clone: fetch all objects first'],
  [/^remote\..*\.promisor$/i, 'it is a partial clone: fetch all objects first'],
];

/** Keys of a git config, as `git config --list --name-only -z` prints them. */
export type ConfigKeys = readonly string[];

/** Throws HUB_REPOSITORY_REFUSED for a git config with options that cannot be overridden. */
export function requireHarmlessConfig(root: string, keys: ConfigKeys): void {
  for (const key of keys)
    for (const [pattern, why] of refused)
      if (pattern.test(key))
        throw new HubError(
          'HUB_REPOSITORY_REFUSED',
          `${root}: its config has ${JSON.stringify(key.slice(0, 200))}, so ${why}. Remove it from .git/config, or copy the repository with git clone`,
        );
}

/** Returns the environment of a git command. `keys`: keys in the config of the repository. */
export function gitEnvironment(keys: ConfigKeys): Readonly<Record<string, string>> {
  const named = keys.flatMap(key => {
    const found = namedSwitches.find(([pattern]) => pattern.test(key));
    return found ? [[key, found[1]] as const] : [];
  });
  const all = [...Object.entries(switches), ...named];
  // Passed as variables: the option `-c` does not allow "=" in a key.
  return Object.assign(
    { ...variables, GIT_CONFIG_COUNT: String(all.length) },
    ...all.map(([key, value], at) => ({
      [`GIT_CONFIG_KEY_${at}`]: key,
      [`GIT_CONFIG_VALUE_${at}`]: value,
    })),
  );
}
