import type { Naming } from '#config';
import { type Clock, HubError, isObject, setBounded, waitAtMost } from '#core';
import type { ReplyBytes } from '#jsonrpc';
import { isStateless, modernVersion } from '#mcp';
import type { Grants, Policy } from '#policy';
import { type ListKind, type Server, type Servers, isRefusedBy, listMethods } from '#servers';
import { type Catalog, type CatalogEntry, type ToolSource, createCatalog } from './catalog.ts';

/** Prepared answers to list requests for all servers, built at the first request after a change. */
type Lists = ReturnType<typeof createLists>;

/** Maximum number of items per page. Most hubs have less than one page of items. */
const pageSize = 1_000;

/** Maximum time to wait for lists that are refreshed, in milliseconds. */
const freshenMs = 1_000;

/** Maximum number of prepared variants of each list. Clients that see different items each have their own. */
const maxPrepared = 64;

/** The part of the lists that one client sees under a policy. */
export type ListView = {
  readonly policy: Policy;
  readonly client: string;
  shows(kind: ListKind, entry: CatalogEntry): boolean;
  /** Tools of the hub that the list starts with, as JSON. */
  readonly ownTools?: readonly string[];
};

/**
 * Pages by revision, grants and client. There is only one variant if the list is the same for all clients, which is
 * usual.
 */
type Variants = Map<string, readonly Buffer[]>;

type Pages = {
  /** Pages for clients that see every item. */
  readonly unrestricted: Variants;
  /** Pages by policy: the policy of the config, and one for each profile. */
  readonly byPolicy: WeakMap<Policy, Variants>;
  readonly isForEveryRevision: boolean;
  readonly isForEveryone: boolean;
};

const answerStart = '{"jsonrpc":"2.0","id":';
const answerEnd = '}}';
const wholeEnd = Buffer.from(answerEnd);

/** Creates the lists. `isOwn`: the lists are those of one client, which no shared cache may keep. */
export function createLists({
  catalog,
  servers,
  clock,
  isOwn = false,
}: {
  readonly catalog: Catalog;
  readonly servers: Pick<Servers, 'all'>;
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
  readonly isOwn?: boolean;
}) {
  /** Pages by kind of list. A page has the bytes of the answer after the id, without the two closing braces. */
  const pages = new Map<ListKind, Pages>();
  catalog.changed(kind => pages.delete(kind));
  /** Pending refreshes of lists. A wait ends when its list was read, or after `freshenMs`. */
  const waits = new Map<ListKind, Map<Server, Promise<void>>>();

  function reread(server: Server, kind: ListKind): Promise<void> {
    const ofKind = waits.get(kind) ?? new Map<Server, Promise<void>>();
    waits.set(kind, ofKind);
    const begun = ofKind.get(server);
    if (begun) return begun;
    const reading = server.refresh(kind).then(() => void ofKind.delete(server));
    const wait = waitAtMost(freshenMs, reading, clock);
    ofKind.set(server, wait);
    return wait;
  }

  function pagesOf(
    kind: ListKind,
    revision: string,
    { administer }: Grants,
    view: ListView | undefined,
  ): readonly Buffer[] {
    const entries = catalog.list(kind);
    const kept: Pages = pages.get(kind) ?? {
      unrestricted: new Map(),
      byPolicy: new WeakMap(),
      isForEveryRevision: entries.every(isForEveryRevision),
      isForEveryone: !entries.some(({ isAdministrative }) => isAdministrative),
    };
    pages.set(kind, kept);
    const variants = variantsOf(kept, view);
    const variant = `${kept.isForEveryRevision ? '' : revision}${administer && !kept.isForEveryone ? ' administer' : ''}${view ? ` ${view.client}` : ''}`;
    const made = variants.get(variant);
    if (made) return made;
    const { member } = listMethods[kind];
    const shown = entries
      .filter(entry => isOffered(entry, revision, administer) && (view?.shows(kind, entry) ?? true))
      .map(entry => bytesFor(entry, revision).toString());
    const items = [...((kind === 'tool' && view?.ownTools) || []), ...shown];
    const count = Math.max(1, Math.ceil(items.length / pageSize));
    const fresh = Array.from({ length: count }, (_, index) => {
      const some = items.slice(index * pageSize, (index + 1) * pageSize).join(',');
      const next = index + 1 < count ? `,"nextCursor":"${cursorOf(index + 1)}"` : '';
      return Buffer.from(`,"result":{"${member}":[${some}]${next}`);
    });
    setBounded(variants, variant, fresh, maxPrepared);
    return fresh;
  }

  /** Returns `ttlMs` and `cacheScope` of a list as JSON members: the strictest values of its servers. */
  function caching(kind: ListKind, view: ListView | undefined): string {
    let until = Infinity;
    let cacheScope = isOwn || view ? 'private' : 'public';
    for (const server of servers.all) {
      if (server.listing[kind].length === 0) continue;
      until = Math.min(until, server.freshUntil(kind));
      if (server.scope(kind) === 'private') cacheScope = 'private';
    }
    const ttlMs = until === Infinity ? 0 : Math.max(0, Math.floor(until - clock.monotonic()));
    return `,"resultType":"complete","ttlMs":${ttlMs},"cacheScope":"${cacheScope}"`;
  }

  return {
    /**
     * Answers a list request, without the items that the schema of the revision refuses, the grants do not allow or
     * the view does not show. `id` is JSON text. Throws HUB_REQUEST_INVALID for an unknown cursor.
     */
    answer(
      kind: ListKind,
      cursor: string | undefined,
      id: string,
      revision: string,
      grants: Grants,
      view?: ListView,
    ): ReplyBytes {
      const all = pagesOf(kind, revision, grants, view);
      const index = cursor === undefined ? 0 : all.findIndex((_, at) => cursorOf(at) === cursor);
      const page = all[index];
      if (page === undefined)
        throw new HubError(
          'HUB_REQUEST_INVALID',
          `"params.cursor" ${JSON.stringify(cursor)} is of no page of this list. Start again without a cursor`,
        );
      // The page is shared by all answers: a list of a thousand tools is not copied.
      return [
        Buffer.from(`${answerStart}${id}`),
        page,
        revision === modernVersion ? Buffer.from(`${caching(kind, view)}${answerEnd}`) : wholeEnd,
      ];
    },
    /**
     * Refreshes the lists whose time to live is over. Resolves when they were read, or after one second: the last
     * known list then stays. Undefined if no list is stale.
     */
    freshen(kind: ListKind): Promise<void> | undefined {
      const now = clock.monotonic();
      const stale = servers.all.filter(server => {
        const serverInfo = server.running?.serverInfo;
        return (
          serverInfo &&
          isStateless(serverInfo) &&
          !announces(serverInfo.capabilities, kind) &&
          server.freshUntil(kind) <= now
        );
      });
      if (stale.length === 0) return undefined;
      return Promise.all(stale.map(server => reread(server, kind))).then(() => undefined);
    },
  };
}

function variantsOf({ unrestricted, byPolicy }: Pages, view: ListView | undefined): Variants {
  if (!view) return unrestricted;
  const variants: Variants = byPolicy.get(view.policy) ?? new Map();
  byPolicy.set(view.policy, variants);
  return variants;
}

const isForEveryRevision = ({ legacyBytes, faults }: CatalogEntry) => !legacyBytes && !faults;

/** True if a list in this revision may contain an item. */
export const isOffered = (
  { isHeld, faults, isAdministrative }: CatalogEntry,
  revision: string,
  administer: boolean | undefined,
): boolean =>
  !isHeld &&
  (!faults || !isRefusedBy(revision, faults)) &&
  (!isAdministrative || administer === true);

/** Returns the description of an item for clients of a revision. */
export const bytesFor = ({ bytes, legacyBytes }: CatalogEntry, revision: string) =>
  revision === modernVersion ? bytes : (legacyBytes ?? bytes);

/**
 * True if the server announces changes of the list: the hub then reads the list again only after a list changed
 * notification.
 */
function announces(capabilities: { readonly [name: string]: unknown }, kind: ListKind): boolean {
  const declared = capabilities[listMethods[kind].capability];
  return isObject(declared) && declared['listChanged'] === true;
}

const cursorOf = (index: number) => Buffer.from(`page ${index}`).toString('base64url');

/** The items that a client gets on the endpoint of all servers, and their prepared lists. */
export type Offering = { readonly catalog: Catalog; readonly lists: Lists };

/** Creates the offering of all servers. An instance that `instanceOf` returns replaces its server. */
export function createOffering(
  naming: () => Naming,
  {
    servers,
    clock,
  }: {
    readonly servers: Pick<Servers, 'all' | 'changed'>;
    readonly clock: Pick<Clock, 'after' | 'monotonic'>;
  },
  instanceOf?: (server: Server) => Server | undefined,
  tools?: ToolSource,
): Offering {
  const offersOf = (server: Server) => instanceOf?.(server) ?? server;
  const catalog = createCatalog(servers, naming, offersOf, tools);
  const offering = {
    get all() {
      return servers.all.map(offersOf);
    },
  };
  const isOwn = instanceOf !== undefined;
  return { catalog, lists: createLists({ catalog, servers: offering, clock, isOwn }) };
}
