import { isDeepStrictEqual } from 'node:util';
import { HubError, type JsonObject, isObject } from '#core';
import { type ClientName, type Scope, clients } from './client.ts';
import { backupsOf, readExactly } from './client-file.ts';
import { type ClientSource, isBlank, valueAt, valueOf, withValue } from './client-text.ts';
import {
  type HubAddress,
  hubEntry,
  isHub,
  isOfConnect,
  isSameHub,
  keepingChoices,
} from './hub-entry.ts';
import { type Machine, placeOf } from './places.ts';

/** Which entry of which file. */
export type Target = {
  readonly client: ClientName;
  readonly scope: Scope;
  /** Instead of the client's own file. */
  readonly file?: string | undefined;
  /** How the hub is called there. */
  readonly name: string;
};

/** What is to become of a file. */
export type Plan = {
  readonly file: string;
  readonly before: string | undefined;
  /** The same as before where nothing is to do; undefined where the file goes. */
  readonly after: string | undefined;
  /** The name under which the hub is there, or was. */
  readonly name: string;
  /** Where what comes is what was kept, the copies that have served then. */
  readonly restores: readonly string[];
};

/** Puts the hub into the file of a client. Throws as `withValue` does. */
export async function planConnect(
  target: Target,
  hub: HubAddress,
  machine: Machine,
): Promise<Plan> {
  const source = await sourceOf(target, machine);
  const { file, text: before } = source;
  const servers = await serversIn(source, target.client);
  const present = servers[target.name];
  const twin = Object.keys(servers).find(name => isSameHub(servers[name], hub));
  if (present === undefined && twin !== undefined)
    return { file, before, after: before, name: twin, restores: [] };
  const entry = keepingChoices(hubEntry(target.client, hub), present);
  const path = [...clients[target.client].servers, target.name];
  const after = isDeepStrictEqual(structuredClone(present), entry)
    ? before
    : await withValue(source, path, entry);
  return { file, before, after, name: target.name, restores: [] };
}

/**
 * Takes the hub out. Where the file is what `planConnect` made of a copy that was kept, or of no file, it becomes
 * what it was; else only the entry goes, and the one that it took the place of comes back.
 */
export async function planDisconnect(
  target: Target,
  hub: Pick<HubAddress, 'url'>,
  machine: Machine,
): Promise<Plan & { readonly others: readonly string[] }> {
  const source = await sourceOf(target, machine);
  const { file, text: before } = source;
  const { name } = target;
  const servers = await serversIn(source, target.client);
  const others = Object.keys(servers).filter(other => other !== name && isHub(servers[other], hub));
  if (servers[name] === undefined)
    return { file, before, after: before, name, restores: [], others };
  const path = [...clients[target.client].servers, name];
  const backups = await backupsOf(file);
  const original = [...backups, { path: undefined, text: undefined }];
  let displaced: unknown;
  for (const { path: backup, text } of original) {
    const kept = { ...source, text };
    const replaced = await entryIn(kept, path);
    // Of earlier connects nothing is to come back.
    if (replaced === undefined || isOfConnect(name, replaced, hub)) continue;
    displaced ??= replaced;
    if (!(await isMadeOf(kept, source, path))) continue;
    const made = await Array.fromAsync(backups, async other =>
      (await isMadeOf(kept, { ...source, text: other.text }, path)) ? other.path : [],
    );
    return { file, before, after: text, name, restores: [backup ?? [], ...made].flat(), others };
  }
  const after = await withValue(source, path, isObject(displaced) ? plain(displaced) : undefined);
  return { file, before, after, name, restores: [], others };
}

/** True where `planConnect` makes the one text of the other. */
async function isMadeOf(
  original: ClientSource,
  made: ClientSource,
  path: readonly string[],
): Promise<boolean> {
  const entry = await entryIn(made, path);
  if (!isObject(entry)) return false;
  try {
    return (await withValue(original, path, plain(entry))) === made.text;
  } catch (error) {
    if (error instanceof HubError) return false;
    throw error;
  }
}

const plain = (entry: object): JsonObject => JSON.parse(JSON.stringify(entry));

/** What stands at the path of a text; nothing can be said of one that cannot be understood. */
async function entryIn(source: ClientSource, path: readonly string[]): Promise<unknown> {
  try {
    return valueAt(source, await valueOf(source), path) ?? 'none';
  } catch (error) {
    if (error instanceof HubError) return undefined;
    throw error;
  }
}

/** The file of a client as it is now. Throws HUB_USAGE where it has none of that scope. */
export async function sourceOf(
  { client, scope, file: said }: Omit<Target, 'name'>,
  machine: Machine,
): Promise<ClientSource> {
  const file = said ?? placeOf(client, scope, machine);
  const { title, format } = clients[client];
  if (file === undefined)
    throw new HubError(
      'HUB_USAGE',
      `${title} has no file for one ${scope === 'workspace' ? 'folder; leave --workspace out' : 'user'}`,
    );
  return { file, text: await readExactly(file), format };
}

/** The servers that a file of a client names. Throws HUB_CONFIG_INVALID where it cannot be understood. */
export async function serversIn(
  source: ClientSource,
  client: ClientName,
  path: readonly string[] = clients[client].servers,
): Promise<Readonly<Record<string, unknown>>> {
  if (isBlank(source)) return {};
  const value = await valueOf(source);
  // As the path of an entry, so that what is no object is told.
  valueAt(source, value, [...path, '']);
  const servers = valueAt(source, value, path);
  return isObject(servers) ? servers : {};
}
