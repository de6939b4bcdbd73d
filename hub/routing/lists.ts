import { type Clock, HubError } from '#core';
import type { ReplyBytes } from '#jsonrpc';
import { modernVersion } from '#mcp';
import type { Grants } from '#policy';
import { type ListKind, type Server, type Servers, isRefusedBy, listMethods } from '#servers';
import type { Catalog, Entry } from './catalog.ts';

/** The lists of all servers as answers, made when a list changes and not when it is asked for. */
export interface Lists {
  /**
   * The answer of a list method to the request with this id, given as JSON text, as the client's revision has
   * it. Items that the schema of the revision refuses are left out: a strict client would refuse them all.
   * Throws HUB_REQUEST_INVALID for a cursor of no page.
   */
  answer(
    kind: ListKind,
    cursor: string | undefined,
    id: string,
    revision: string,
    grants: Grants,
  ): ReplyBytes;
  /**
   * Reads again what servers gave for a while that is over. Resolves when that is done, or when it has
   * taken a second: then the list is what is known, and changes when the server answers after all.
   * Undefined where there is nothing to read, as mostly.
   */
  freshen(kind: ListKind): Promise<void> | undefined;
}

/** Entries of a page: clients of a few hundred tools get them in one answer. */
const pageSize = 1_000;

/** How long a list waits for servers that are asked for theirs again, in milliseconds. */
const freshenMs = 1_000;

type Pages = {
  /** By revision and grants; under one key if all clients are listed the same, as mostly. */
  readonly fresh: Map<string, readonly Buffer[]>;
  readonly isForEveryRevision: boolean;
  readonly isForEveryone: boolean;
};

export type ListsNeeds = {
  readonly catalog: Catalog;
  readonly servers: Pick<Servers, 'all'>;
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
  /** Whether they are the lists of one client, which nobody else may be given. */
  readonly isOwn?: boolean;
};

const answerStart = '{"jsonrpc":"2.0","id":';
const answerEnd = '}}';
const wholeEnd = Buffer.from(answerEnd);

export function createLists(needs: ListsNeeds): Lists {
  const { catalog, servers, clock } = needs;
  /** Each page from the value of its id on, without the two braces at its end. */
  const pages = new Map<ListKind, Pages>();
  catalog.changed(kind => pages.delete(kind));
  /** Readings that are under way, each as the wait for it: one that has been waited for long enough is no more. */
  const waits = new Map<ListKind, Map<Server, Promise<void>>>();

  function reread(server: Server, kind: ListKind): Promise<void> {
    const ofKind = waits.get(kind) ?? new Map<Server, Promise<void>>();
    waits.set(kind, ofKind);
    const begun = ofKind.get(server);
    if (begun) return begun;
    const { promise, resolve } = Promise.withResolvers<void>();
    ofKind.set(server, promise);
    const patience = clock.after(freshenMs, resolve);
    void server.refresh(kind).then(() => {
      patience[Symbol.dispose]();
      ofKind.delete(server);
      resolve();
    });
    return promise;
  }

  function pagesOf(kind: ListKind, revision: string, { administer }: Grants): readonly Buffer[] {
    const entries = catalog.list(kind);
    const kept = pages.get(kind) ?? {
      fresh: new Map<string, readonly Buffer[]>(),
      isForEveryRevision: entries.every(isForEveryRevision),
      isForEveryone: !entries.some(({ isAdministrative }) => isAdministrative),
    };
    pages.set(kind, kept);
    const variant = `${kept.isForEveryRevision ? '' : revision}${administer && !kept.isForEveryone ? ' administer' : ''}`;
    const made = kept.fresh.get(variant);
    if (made) return made;
    const { member } = listMethods[kind];
    const items = entries
      .filter(
        ({ faults, isAdministrative }) =>
          (!faults || !isRefusedBy(revision, faults)) && (!isAdministrative || administer),
      )
      .map(entry => bytesFor(entry, revision).toString());
    const count = Math.max(1, Math.ceil(items.length / pageSize));
    const fresh = Array.from({ length: count }, (_, index) => {
      const some = items.slice(index * pageSize, (index + 1) * pageSize).join(',');
      const next = index + 1 < count ? `,"nextCursor":"${cursorOf(index + 1)}"` : '';
      return Buffer.from(`,"result":{"${member}":[${some}]${next}`);
    });
    kept.fresh.set(variant, fresh);
    return fresh;
  }

  /** How long the list may be kept, and by whom: as the strictest of the servers says. */
  function caching(kind: ListKind): string {
    let until = Infinity;
    let cacheScope = needs.isOwn ? 'private' : 'public';
    for (const server of servers.all) {
      if (server.listing[kind].length === 0) continue;
      until = Math.min(until, server.freshUntil(kind));
      if (server.scope(kind) === 'private') cacheScope = 'private';
    }
    const ttlMs = until === Infinity ? 0 : Math.max(0, Math.floor(until - clock.monotonic()));
    return `,"resultType":"complete","ttlMs":${ttlMs},"cacheScope":"${cacheScope}"`;
  }

  return {
    answer(kind, cursor, id, revision, grants) {
      const all = pagesOf(kind, revision, grants);
      const index = cursor === undefined ? 0 : all.findIndex((_, at) => cursorOf(at) === cursor);
      const page = all[index];
      if (page === undefined)
        throw new HubError(
          'HUB_REQUEST_INVALID',
          `"params.cursor" ${JSON.stringify(cursor)} is of no page of this list. Begin again without one`,
        );
      // The page is kept: an answer of a thousand tools costs no more than its way to the socket.
      return [
        Buffer.from(`${answerStart}${id}`),
        page,
        revision === modernVersion ? Buffer.from(`${caching(kind)}${answerEnd}`) : wholeEnd,
      ];
    },
    freshen(kind) {
      const now = clock.monotonic();
      const stale = servers.all.filter(server => {
        const introduction = server.running?.introduction;
        return (
          introduction?.era === 'modern' &&
          !announces(introduction.capabilities, kind) &&
          server.freshUntil(kind) <= now
        );
      });
      if (stale.length === 0) return undefined;
      return Promise.all(stale.map(server => reread(server, kind))).then(() => undefined);
    },
  };
}

const isForEveryRevision = ({ legacyBytes, faults }: Entry) => !legacyBytes && !faults;

const bytesFor = ({ bytes, legacyBytes }: Entry, revision: string) =>
  revision === modernVersion ? bytes : (legacyBytes ?? bytes);

/** True where the server tells of changes to the list: it is read again then, and not before. */
function announces(capabilities: { readonly [name: string]: unknown }, kind: ListKind): boolean {
  const declared = capabilities[listMethods[kind].capability];
  return (
    typeof declared === 'object' &&
    declared !== null &&
    'listChanged' in declared &&
    declared.listChanged === true
  );
}

const cursorOf = (index: number) => Buffer.from(`page ${index}`).toString('base64url');
