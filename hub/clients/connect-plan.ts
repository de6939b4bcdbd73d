import { isDeepStrictEqual } from 'node:util';
import { HubError, type JsonObject, isObject } from '#core';
import {
  type ClientMachine,
  type ClientName,
  type ClientScope,
  clients,
  configFileOf,
} from './client/client.ts';
import { backupsOf, readExactly } from './client/file.ts';
import { type ClientSource, isBlank, valueAt, valueOf, withValue } from './client/text.ts';
import {
  type HubAddress,
  hubEntry,
  pointsToHub,
  isConnectEntry,
  isSameHub,
  keepUserSettings,
} from './hub-entry.ts';

/** The entry to write: its client, scope and name. */
export type ConnectTarget = {
  readonly client: ClientName;
  readonly scope: ClientScope;
  /** Path of a file to use in place of the client's own. */
  readonly file?: string | undefined;
  /** Name of the hub's entry. */
  readonly name: string;
};

/** A planned change of a client's file. */
export type ConnectPlan = {
  readonly file: string;
  readonly before: string | undefined;
  /** New text: equal to `before` if nothing changes; undefined if the file is removed. */
  readonly after: string | undefined;
  /** Name of the hub's entry. */
  readonly name: string;
  /** Backups that can be deleted afterwards, if `after` is the text of a backup. */
  readonly restores: readonly string[];
};

/**
 * Plans adding the hub to a client's file. Rejects as `withValue` does, and with HUB_CONFIG_CONFLICT if the earlier
 * entry contains an integer that JSON cannot represent.
 */
export async function planConnect(
  target: ConnectTarget,
  hub: HubAddress,
  machine: ClientMachine,
): Promise<ConnectPlan> {
  const source = await sourceOf(target, machine);
  const { file, text: before } = source;
  const servers = await serversIn(source, target.client);
  const present = servers[target.name];
  const twin = Object.keys(servers).find(name => isSameHub(servers[name], hub));
  if (present === undefined && twin !== undefined)
    return { file, before, after: before, name: twin, restores: [] };
  const path = [...clients[target.client].servers, target.name];
  const earlier = isObject(present) ? toJson(source, path, present) : present;
  const entry = keepUserSettings(hubEntry(target.client, hub), earlier);
  const after = isDeepStrictEqual(structuredClone(present), entry)
    ? before
    : await withValue(source, path, entry);
  return { file, before, after, name: target.name, restores: [] };
}

/**
 * Plans removing the hub from a client's file. If the file is exactly what `planConnect` made of a backup, or of no
 * file, the plan restores the original; otherwise it only removes the entry, or replaces it by the earlier one.
 * `others` has the names of further entries that point to the hub.
 */
export async function planDisconnect(
  target: ConnectTarget,
  hub: Pick<HubAddress, 'url'>,
  machine: ClientMachine,
): Promise<ConnectPlan & { readonly others: readonly string[] }> {
  const source = await sourceOf(target, machine);
  const { file, text: before } = source;
  const { name } = target;
  const servers = await serversIn(source, target.client);
  const others = Object.keys(servers).filter(
    other => other !== name && pointsToHub(servers[other], hub),
  );
  if (servers[name] === undefined)
    return { file, before, after: before, name, restores: [], others };
  const path = [...clients[target.client].servers, name];
  const backups = await backupsOf(file);
  const original = [...backups, { path: undefined, text: undefined }];
  let displaced: unknown;
  for (const { path: backup, text } of original) {
    const kept = { ...source, text };
    const replaced = await entryIn(kept, path);
    // Skip backups whose entry was also written by `connect`.
    if (replaced === undefined || isConnectEntry(name, replaced, hub)) continue;
    displaced ??= replaced;
    if (!(await isResultOf(kept, source, path))) continue;
    const made = await Array.fromAsync(backups, async other =>
      (await isResultOf(kept, { ...source, text: other.text }, path)) ? other.path : [],
    );
    return { file, before, after: text, name, restores: [backup ?? [], ...made].flat(), others };
  }
  const after = await withValue(
    source,
    path,
    isObject(displaced) ? toJson(source, path, displaced) : undefined,
  );
  return { file, before, after, name, restores: [], others };
}

/** True if `planConnect` would turn the original text into the other text. */
async function isResultOf(
  original: ClientSource,
  made: ClientSource,
  path: readonly string[],
): Promise<boolean> {
  const entry = await entryIn(made, path);
  if (!isObject(entry)) return false;
  const result = await unlessInvalid(
    async () => await withValue(original, path, toJson(made, path, entry)),
  );
  return result !== undefined && result === made.text;
}

/** Converts an entry to JSON. Throws HUB_CONFIG_CONFLICT if it contains a TOML integer that JSON cannot represent. */
function toJson(
  { file }: Pick<ClientSource, 'file'>,
  path: readonly string[],
  entry: object,
): JsonObject {
  const text = JSON.stringify(entry, (_key, value: unknown) => {
    if (typeof value !== 'bigint') return value;
    throw new HubError(
      'HUB_CONFIG_CONFLICT',
      `${file}: ${path.join('.')} contains an integer beyond 2^53, which cannot be kept exactly. Write a smaller one, or remove it`,
    );
  });
  return JSON.parse(text);
}

/** Returns the entry at the path, 'none' if there is none, or undefined if the text cannot be parsed. */
const entryIn = async (source: ClientSource, path: readonly string[]): Promise<unknown> =>
  await unlessInvalid(async () => valueAt(source, await valueOf(source), path) ?? 'none');

/** Returns the result of the work; undefined if it rejects with HubError. */
async function unlessInvalid<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof HubError) return undefined;
    throw error;
  }
}

/** Reads a client's file. Rejects with HUB_USAGE if the client has no file for that scope. */
export async function sourceOf(
  { client, scope, file: given }: Omit<ConnectTarget, 'name'>,
  machine: ClientMachine,
): Promise<ClientSource> {
  const file = given ?? configFileOf(client, scope, machine);
  const { title, format } = clients[client];
  if (file === undefined)
    throw new HubError(
      'HUB_USAGE',
      `${title} has no file for one ${scope === 'workspace' ? 'folder; leave --workspace out' : 'user'}`,
    );
  return { file, text: await readExactly(file), format };
}

/** Returns the servers in a client's file by name. Rejects with HUB_CONFIG_INVALID if the file cannot be parsed. */
export async function serversIn(
  source: ClientSource,
  client: ClientName,
  path: readonly string[] = clients[client].servers,
): Promise<Readonly<Record<string, unknown>>> {
  if (isBlank(source)) return {};
  const value = await valueOf(source);
  // The additional key makes `valueAt` report a value that is not an object.
  valueAt(source, value, [...path, '']);
  const servers = valueAt(source, value, path);
  return isObject(servers) ? servers : {};
}
