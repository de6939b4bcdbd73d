import { type JsonObject, HubError, isJsonObject, isObject } from '#core';
import type { FormField, InstallOption } from '#installs';

/** Where secrets are stored. */
export type SecretStores = {
  /** Stores a secret's value under a name. */
  readonly set: (name: string, value: string) => Promise<unknown>;
  /** Returns the references to secrets in the config; undefined if there are none. */
  readonly uses: () => readonly { readonly secret: string }[] | undefined;
  /** True if a secret of this name exists that an install must not overwrite. */
  readonly isKept: (name: string) => Promise<boolean>;
};

/** Names of secrets that unfinished installs use. */
type ReservedNames = {
  readonly has: (name: string) => boolean;
  readonly add: (name: string) => void;
};

const maxValue = 100_000;
const maxName = 128;

/**
 * Stores the values of fields that the publisher marks as secret, and returns the body with references in their place.
 * A value that already refers to a secret or variable stays. Each secret gets a name that no server uses, no other
 * install has reserved, and no secret of the user has. Reserves these names, and those of secrets that values refer to.
 * Rejects with HUB_REQUEST_INVALID.
 */
export async function keepSecrets(
  { fields, server }: InstallOption,
  body: JsonObject | { readonly [key: string]: unknown },
  secrets: SecretStores,
  reserved: ReservedNames,
): Promise<{ readonly body: JsonObject; readonly stored: readonly string[] }> {
  const kept = new Map<string, unknown>(Object.entries(body));
  const stored: string[] = [];
  // Read again for each name: another install may end meanwhile, and its server then uses its secrets.
  const isTaken = (name: string) =>
    reserved.has(name) || (secrets.uses()?.some(({ secret }) => secret === name) ?? false);
  for (const field of fields.filter(({ isSecret }) => isSecret)) {
    const [part = '', ...keys] = field.path.split('.');
    const key = keys.join('.');
    const group = kept.get(part);
    const value = isObject(group) ? group[key] : undefined;
    if (typeof value !== 'string' || value === '') continue;
    for (const [, name = ''] of value.matchAll(/\$\{secret:([^{}]+)\}/g)) reserved.add(name);
    if (/\$\{[^{}]+\}/.test(value)) continue;
    if (value.length > maxValue || value.includes('\0'))
      throw new HubError('HUB_REQUEST_INVALID', `${field.path}: its value is too long, or has NUL`);
    const wanted = secretNameFor(nameIn(body, server.name), field);
    let name: string;
    // Reserve each name before it is looked up: another install may look for a name meanwhile.
    do reserved.add((name = freeName(wanted, isTaken)));
    while (await secrets.isKept(name));
    await secrets.set(name, value);
    stored.push(name);
    kept.set(part, { ...(isObject(group) ? group : {}), [key]: `\${secret:${name}}` });
  }
  return { body: jsonOf(kept), stored };
}

const nameIn = (body: { readonly [key: string]: unknown }, registered: string) =>
  typeof body['name'] === 'string' && body['name'] !== ''
    ? body['name']
    : registered.slice(registered.lastIndexOf('/') + 1);

/** Names a secret: `GITHUB_API_KEY` for `github` and `API_KEY`. A key with the server's name as prefix is kept. */
function secretNameFor(server: string, { path }: Pick<FormField, 'path'>): string {
  const upper = (text: string) =>
    text
      .toUpperCase()
      .replaceAll(/[^A-Z0-9]+/g, '_')
      .replaceAll(/^_+|_+$/g, '');
  const key = upper(path.slice(path.indexOf('.') + 1));
  const owner = upper(server).replace(/^(?:MCP_|SERVER_)+|(?:_MCP|_SERVER)+$/g, '');
  const name = owner === '' || key.startsWith(owner) ? key : `${owner}_${key}`;
  return (name || 'SECRET').slice(0, maxName);
}

/** Returns the name if it is free; otherwise the name with the first free number, such as `TOKEN_2`. */
function freeName(name: string, isTaken: (name: string) => boolean): string {
  let free = name;
  for (let number = 2; isTaken(free); number++) {
    const suffix = `_${number}`;
    free = `${name.slice(0, maxName - suffix.length)}${suffix}`;
  }
  return free;
}

function jsonOf(kept: ReadonlyMap<string, unknown>): JsonObject {
  const value: unknown = JSON.parse(JSON.stringify(Object.fromEntries(kept)));
  return isJsonObject(value) ? value : {};
}
