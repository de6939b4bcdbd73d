import { isSecretName } from '#core';
import { minKnownLength } from './redact.ts';

/** The parts of a server's config that may contain secrets. */
type LaunchConfig = {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly url?: string;
  readonly oauth?: { readonly client_secret?: string };
};

/** Sources of secrets that are fixed while the hub runs. */
type HubSecrets = {
  /** Environment variables that config files may use. Variables with a secret-sounding name count as secrets. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Secret settings of the hub: tokens, and URLs that may contain a password. */
  readonly settings: readonly (string | undefined)[];
  /** Returns the values that were read for `${secret:NAME}`. A new array after each change. */
  readonly read?: () => readonly string[];
};

/** Maximum number of values. Those of earlier configs are kept, as logs and calls may be older than a reload. */
const maxKnown = 2_000;

/**
 * Returns a function that returns all values to redact. It caches them as long as `read` returns the same array, so
 * `read` must return another array when the configs change.
 */
export function createKnownSecrets(
  read: () => readonly { readonly launch: LaunchConfig }[],
  own: HubSecrets,
): () => readonly string[] {
  let configs: ReturnType<typeof read> | undefined;
  let values: readonly string[] | undefined;
  let known: readonly string[] = [];
  return () => {
    const now = read();
    const nowRead = own.read?.();
    if (now === configs && nowRead === values) return known;
    configs = now;
    values = nowRead;
    const found = secretsIn(
      now.map(({ launch }) => launch),
      own,
    );
    known = [...new Set([...found, ...known])].slice(0, maxKnown);
    return known;
  };
}

/**
 * Values of plain settings: paths, URLs, numbers and words. They are redacted only if their name is that of a secret:
 * otherwise errors would be unreadable.
 */
const ordinary =
  /^(?:[./~][^\s]*|[A-Za-z]:[\\/][^\s]*|(?:https?|wss?):\/\/[^\s@?]*|[\d.,:]+|[A-Za-z]{1,15}|[a-z]{1,15}(?:[-_][a-z]{1,15}){0,5}|[a-z]{2}_[A-Z]{2}\.UTF-8)$/;

/** Matches a variable or header in an argument, as in `-e API_KEY=value` and `--header 'X-Api-Key: value'`. */
const assignment = /^([\w.-]{1,100})(?:=|:\s*)([^]+)$/;

/** Variables that the shell sets to its current and previous folder. They are never secret. */
const folderNames: readonly string[] = ['PWD', 'OLDPWD'];

function secretsIn(
  launches: readonly LaunchConfig[],
  { variables, settings, read = () => [] }: HubSecrets,
) {
  const found = new Set<string>();
  const add = (value: string | undefined) => {
    if (value !== undefined && value.length >= minKnownLength) found.add(value);
  };
  const addNamed = (name: string, value: string | undefined) => {
    if (isSecretName(name)) add(value);
    addPasswordsOf(value, add);
  };
  for (const value of read()) add(value);
  for (const { args = [], env = {}, headers = {}, url, oauth } of launches) {
    add(oauth?.client_secret);
    for (const [name, value] of [...Object.entries(env), ...Object.entries(headers)])
      addNamed(ordinary.test(value) ? name : 'secret', value);
    for (const [index, arg] of args.entries()) {
      const [, option = args[index - 1] ?? '', value = arg] = /^(--?[^=]+)=([^]*)$/.exec(arg) ?? [];
      addNamed(option.startsWith('-') ? option : '', value);
      const [, name = '', assigned] = assignment.exec(value) ?? [];
      addNamed(name, assigned);
    }
    addPasswordsOf(url, add);
  }
  for (const [name, value] of Object.entries(variables))
    if (!folderNames.includes(name)) addNamed(name, value);
  for (const value of settings)
    if (value?.includes('://')) addPasswordsOf(value, add);
    else add(value);
  return found;
}

/** Adds the password of a URL, raw and decoded, and query parameters with secret-sounding names. */
function addPasswordsOf(text: string | undefined, add: (value: string) => void): void {
  const url = text?.includes('://') ? URL.parse(text) : null;
  if (!url) return;
  add(url.password);
  try {
    add(decodeURIComponent(url.password));
  } catch {
    // The percent-encoding is invalid. The raw form has already been added.
  }
  for (const [name, value] of url.searchParams)
    if (isSecretName(name) || name === 'key') add(value);
}
