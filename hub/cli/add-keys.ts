import { HubError, isSecretName } from '#core';
import type { Run } from './command.ts';
import { reloadSecrets } from './commands/secret.ts';
import { type Values, choiceOf, usageError } from './values.ts';

/** Parts of an install request that may contain keys. */
type Keyed = {
  readonly env: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
};

/** An install request with references to secrets instead of keys, and the names of these secrets. */
type Stored<Request> = {
  readonly request: Request;
  readonly secrets: readonly string[];
};

type KeysPlace = 'secrets' | 'config';

/**
 * Returns the value of `--keys`. Throws HUB_USAGE for an unknown value, and for `secrets` with `--url`: this command can
 * store secrets on this machine only, where the hub at that address does not read them.
 */
export function keysPlaceOf(values: Values): KeysPlace | undefined {
  const place = choiceOf(values, 'keys', ['secrets', 'config']);
  if (place === 'secrets' && values['url'] !== undefined)
    throw usageError(
      `--keys: "secrets" stores keys on this machine, not at the hub of --url. Run "agenthub secret set NAME" where that hub runs, and write '\${secret:NAME}' instead of each key. For the hub of this machine, leave out --url`,
    );
  return place;
}

/**
 * Stores keys in the variables and headers of a request as secrets of the hub, with `--keys secrets` or if the user
 * agrees on a terminal, as `import` does. The returned request refers to the secrets by name. Rejects with
 * HUB_CONFIG_CONFLICT if a secret has another value.
 */
export async function storeKeys<Request extends Keyed>(
  request: Request,
  keys: KeysPlace | undefined,
  run: Run,
): Promise<Stored<Request>> {
  const found = [...Object.entries(request.env), ...Object.entries(request.headers)]
    .filter(([name, text]) => isKey(name, text))
    // Store `$$` as `$`: it stands for a dollar sign in the config, where a secret is not expanded.
    .map(([name, text]) => [secretNameOf(name), text.replaceAll('$$', () => '$')] as const);
  const names = [...new Set(found.map(([secret]) => secret))];
  const asIs = { request, secrets: [] };
  if (names.length === 0 || keys === 'config') return asIs;
  if (keys === undefined && !(await isWanted(names, run))) return asIs;
  const secrets = await run.needs.files.openSecrets();
  const stored = await secrets.read(names);
  const added = new Map<string, string>();
  for (const [secret, value] of found) {
    const reading = stored.get(secret);
    if (reading && 'fault' in reading) throw new HubError('HUB_CONFIG_CONFLICT', reading.fault);
    if ((reading?.value ?? added.get(secret) ?? value) !== value)
      throw new HubError(
        'HUB_CONFIG_CONFLICT',
        `the secret ${secret} exists already, with another value. Write "\${secret:${secret}}" to use it, or remove it with "agenthub secret remove ${secret}"`,
      );
    if (!reading) added.set(secret, value);
  }
  for (const [secret, value] of added) {
    await secrets.set(secret, value, undefined);
    run.remark('note', `stored as a secret: ${secret}`);
    await reloadSecrets({ action: 'secret_set', target: secret }, run);
  }
  const replaced = (texts: Keyed['env']) =>
    Object.fromEntries(
      Object.entries(texts).map(([name, text]) => [
        name,
        isKey(name, text) ? `\${secret:${secretNameOf(name)}}` : text,
      ]),
    );
  const { env, headers } = request;
  return {
    request: { ...request, env: replaced(env), headers: replaced(headers) },
    secrets: names,
  };
}

const isKey = (name: string, text: string) =>
  text !== '' && !text.includes('${') && isSecretName(name);

async function isWanted(names: readonly string[], run: Run): Promise<boolean> {
  const { ask } = run.needs;
  // With `--url`, the secrets of this machine are not those of the hub.
  if (!ask || run.isJson || run.values['url'] !== undefined) return false;
  const question = `Store ${names.join(', ')} as ${names.length === 1 ? 'a secret' : 'secrets'} of the hub, so that the config has only the name? [Y/n] `;
  return ((await ask(question, run.signal)).trim().toLowerCase()[0] ?? 'y') === 'y';
}

const secretNameOf = (name: string) => name.replaceAll(/[^A-Za-z0-9_]/g, '_').toUpperCase();
