import type { ServerConfig } from '#config';
import { type JsonObject, type Log, HubError, messageOf } from '#core';
import type { ServerLogins } from '#oauth';
import type { Belonging } from '#runtimes';
import type { Listing, Server } from '#servers';
import type { Table } from '#store';
import { type Belongings, type BelongingsNeeds, belongingsOf, ownOf } from './belongings.ts';
import type { Places } from './places.ts';

export type RemovalNeeds = BelongingsNeeds & {
  readonly log: Log;
  readonly configFile: {
    /** Removes an entry. Resolves when nothing of the server runs anymore. */
    readonly remove: (name: string) => Promise<void>;
    /** Returns all servers in the file, also those that `--tags` excludes. */
    readonly configs: () => readonly ServerConfig[];
    /** Returns the stored secrets that nothing uses once this server is removed. Never rejects. */
    readonly secretsLeftBy: (name: string) => Promise<readonly LeftBehind[]>;
  };
  /** What the hub stores of servers. Absent: nothing is stored. */
  readonly stored?: {
    /** The lists of servers, for clients that connect before the first start. */
    readonly listings: {
      readonly keep: (config: ServerConfig, listing: Listing) => Promise<void>;
      readonly forget: (name: string) => Promise<void>;
    };
    readonly logins: Pick<ServerLogins, 'remove'>;
    /** The upgrades that can be rolled back, by server. */
    readonly rollbacks: Pick<Table, 'remove'>;
  };
  /** Drops the pinned definitions of a server. Absent: nothing is pinned. */
  readonly pinning?: { readonly forget: (name: string) => void };
  /** Active servers. */
  readonly servers: { readonly all: readonly Server[]; find(name: string): Server | undefined };
};

/** Something of a removed server that is still there, and the reason. */
export type LeftBehind = { readonly kind: string; readonly name: string; readonly why: string };

/** What a removal has removed, and what it has left. */
export type Removal = {
  readonly name: string;
  readonly removed: readonly JsonObject[];
  readonly left: readonly LeftBehind[];
};

/** Returns the config of a server. Throws HUB_SERVER_UNKNOWN. */
export function requireConfig(name: string, configs: readonly ServerConfig[]): ServerConfig {
  const found = configs.find(config => config.name === name);
  if (found) return found;
  throw new HubError(
    'HUB_SERVER_UNKNOWN',
    `no server is called ${JSON.stringify(name)}. The config has: ${configs.map(config => config.name).join(', ') || 'none'}`,
    { data: { server: name } },
  );
}

/** Removes a server, its entry first: a hub that is killed in between will not start the server again. */
export async function removeServer(
  name: string,
  purge: boolean,
  places: Places,
  othersThan: (config: ServerConfig) => readonly ServerConfig[],
  needs: RemovalNeeds,
): Promise<Removal> {
  const entry = requireConfig(name, needs.configFile.configs());
  using _ = places.takeKnown(name);
  const server = needs.servers.find(name);
  const about = server?.running?.instance.about;
  const left: LeftBehind[] = [...(await needs.configFile.secretsLeftBy(name))];
  let belongings: Belongings | undefined;
  let own: readonly Belonging[] = [];
  if (purge)
    try {
      // With `--tags`, only some servers of the file are active.
      const config = server?.config ?? entry;
      belongings = belongingsOf(config, needs);
      const split = await ownOf(await belongings.list(), othersThan(config), needs);
      own = split.own;
      left.push(...split.left);
    } catch (error) {
      left.push({ kind: 'image and volumes', name, why: messageOf(error) });
    }
  await needs.configFile.remove(name);
  await needs.stored?.listings.forget(name);
  await needs.stored?.rollbacks.remove(name);
  needs.pinning?.forget(name);
  const login = await removeLogin(name, needs);
  const gone = await belongings?.discard(own);
  needs.log.info({ server: name, purge }, 'removed a server');
  return {
    name,
    removed: [
      { kind: 'entry', name },
      ...(about ? [{ kind: 'instance', ...about }] : []),
      ...login.removed,
      ...(gone?.removed ?? []),
    ],
    left: [...left, ...login.left, ...(gone?.left ?? [])],
  };
}

/** Deletes the login of a server whose entry is removed. Never rejects. */
async function removeLogin(
  name: string,
  { stored }: RemovalNeeds,
): Promise<Pick<Removal, 'removed' | 'left'>> {
  try {
    const login = await stored?.logins.remove(name);
    const removed = login ? [{ kind: 'login', name, revoked: login.isRevoked }] : [];
    return { removed, left: [] };
  } catch (error) {
    return { removed: [], left: [{ kind: 'login', name, why: messageOf(error) }] };
  }
}
