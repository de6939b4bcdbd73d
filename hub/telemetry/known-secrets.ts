import { isSecretName } from '#core';
import { minKnownLength } from './redact.ts';

/** What of a server's config may hold secrets. */
export type Launched = {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly url?: string;
};

/** What stays the same as long as the hub runs. */
export type OwnSecrets = {
  /** Variables that config files are filled in from: those under telling names count. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Settings of the hub: tokens, and addresses that may hold a password. */
  readonly settings: readonly (string | undefined)[];
};

/** So many values that configs have had are remembered: logs and calls may be older than a reload. */
const maxKnown = 2_000;

/**
 * The values that must not be shown, wherever they stand, by the configs that `read` tells and those
 * before. Asking costs nothing while `read` gives the same array.
 */
export function createKnownSecrets(
  read: () => readonly { readonly launch: Launched }[],
  own: OwnSecrets,
): () => readonly string[] {
  let configs: ReturnType<typeof read> | undefined;
  let known: readonly string[] = [];
  return () => {
    const now = read();
    if (now === configs) return known;
    configs = now;
    const launches = now.map(({ launch }) => launch);
    known = [...new Set([...secretsIn(launches, own), ...known])].slice(0, maxKnown);
    return known;
  };
}

/**
 * What a path, an address, a number or a word looks like: such a value of a server's environment is a
 * setting, whose removal would make errors unreadable, unless its name says that it is secret.
 */
const ordinary =
  /^(?:[./~][^\s]*|[A-Za-z]:[\\/][^\s]*|(?:https?|wss?):\/\/[^\s@?]*|[\d.,:]+|[A-Za-z]{1,15}|[a-z]{1,15}(?:[-_][a-z]{1,15}){0,5}|[a-z]{2}_[A-Z]{2}\.UTF-8)$/;

/** Where a shell says in which folder it is, and was. */
const folderNames: readonly string[] = ['PWD', 'OLDPWD'];

function secretsIn(
  launches: readonly Launched[],
  { variables, settings }: OwnSecrets,
): readonly string[] {
  const found = new Set<string>();
  const add = (value: string | undefined) => {
    if (value !== undefined && value.length >= minKnownLength) found.add(value);
  };
  const addNamed = (name: string, value: string | undefined) => {
    if (isSecretName(name)) add(value);
    addPasswordsOf(value, add);
  };
  for (const { args = [], env = {}, headers = {}, url } of launches) {
    for (const [name, value] of [...Object.entries(env), ...Object.entries(headers)])
      addNamed(ordinary.test(value) ? name : 'secret', value);
    for (const [index, arg] of args.entries()) {
      const [, option = args[index - 1] ?? '', value = arg] = /^(--?[^=]+)=([^]*)$/.exec(arg) ?? [];
      addNamed(option.startsWith('-') ? option : '', value);
    }
    addPasswordsOf(url, add);
  }
  for (const [name, value] of Object.entries(variables))
    if (!folderNames.includes(name)) addNamed(name, value);
  for (const value of settings) {
    const isAddress = value?.includes('://');
    if (isAddress) addPasswordsOf(value, add);
    else add(value);
  }
  return [...found];
}

/** The password in an address, as it stands there and decoded, and what its query says under telling names. */
function addPasswordsOf(text: string | undefined, add: (value: string) => void): void {
  const url = text?.includes('://') ? URL.parse(text) : null;
  if (!url) return;
  add(url.password);
  try {
    add(decodeURIComponent(url.password));
  } catch {
    // What is no encoded text is found as it stands.
  }
  for (const [name, value] of url.searchParams)
    if (isSecretName(name) || name === 'key') add(value);
}
