import { isObject } from '#core';
import { type Answer, type Request, membersOf, stringAt, valueOf } from '#jsonrpc';
import type { SessionState } from '../session.ts';

/** The id that a server gave an object of a session, such as a task. */
type OwnedId<About> = {
  /** The server or instance that issued the id. The id is valid only there. */
  readonly source: object;
  readonly id: string;
  readonly about: About;
};

/**
 * Maximum length of stored ids, in characters. Servers choose ids, so a maximum number alone would not limit memory.
 */
const maxIdLength = 1_024;

/** True for an id that is short enough to be stored. */
export const isKeptId = (id: string | undefined): id is string =>
  id !== undefined && id.length <= maxIdLength;

type Ownership<About> = ReturnType<typeof createOwnership<About>>;

/**
 * Records the ids of objects that sessions own at servers, such as tasks: a shared server does not distinguish its
 * sessions. Above `maxPerSession`, the oldest ids of a session are dropped.
 */
export function createOwnership<About>(maxPerSession: number) {
  const bySession = new Map<SessionState, OwnedId<About>[]>();
  const bySource = new Map<object, Map<string, Set<SessionState>>>();

  const idsOf = (session: SessionState): readonly OwnedId<About>[] => bySession.get(session) ?? [];

  function forget(session: SessionState, { source, id }: OwnedId<About>): void {
    const ids = bySource.get(source);
    const holders = ids?.get(id);
    holders?.delete(session);
    if (holders?.size === 0) ids?.delete(id);
    if (ids?.size === 0) bySource.delete(source);
  }

  function drop(session: SessionState, isGone: (owned: OwnedId<About>) => boolean): void {
    const { gone = [], kept = [] } = Object.groupBy(idsOf(session), owned =>
      isGone(owned) ? 'gone' : 'kept',
    );
    for (const owned of gone) forget(session, owned);
    if (kept.length > 0) bySession.set(session, kept);
    else bySession.delete(session);
  }

  return {
    get size(): number {
      return [...bySource.values()].reduce((sum, ids) => sum + ids.size, 0);
    },
    /** Adds an id to a session, unless the session already has the id, or the id is too long. */
    add(session: SessionState, owned: OwnedId<About>): void {
      const { source, id } = owned;
      if (!isKeptId(id)) return;
      const ids = bySource.get(source) ?? new Map<string, Set<SessionState>>();
      const holders = ids.get(id) ?? new Set<SessionState>();
      if (holders.has(session)) return;
      bySource.set(source, ids.set(id, holders.add(session)));
      const all = bySession.get(session) ?? [];
      all.push(owned);
      bySession.set(session, all);
      const oldest = all.length > maxPerSession ? all.shift() : undefined;
      if (oldest) forget(session, oldest);
    },
    /** Returns the owner of an id; undefined if there is none, or if several sessions have the same id. */
    ownerOf(source: object, id: string): SessionState | undefined {
      const holders = bySource.get(source)?.get(id);
      const [only] = holders?.size === 1 ? holders : [];
      return only;
    },
    isHeld: (source: object): boolean => bySource.has(source),
    /** Returns the ids of a session, oldest first. */
    of: idsOf,
    find: (session: SessionState, source: object, id: string) =>
      idsOf(session).find(one => one.source === source && one.id === id),
    remove(session: SessionState, source: object, id: string): void {
      drop(session, one => one.source === source && one.id === id);
    },
    removeAll(session: SessionState): void {
      drop(session, () => true);
    },
    sourceGone(source: object): void {
      const holders = [...(bySource.get(source)?.values() ?? [])].flatMap(found => [...found]);
      for (const session of new Set(holders)) drop(session, one => one.source === source);
    },
  };
}

/**
 * Pages to which servers sent clients (URL elicitation), by `elicitationId`. Only these clients are notified that a
 * page is complete.
 */
export type UrlElicitations = Ownership<undefined>;

/** Maximum number of pages per client. Above it, the oldest pages are dropped. */
const maxPages = 1_000;

export const createUrlElicitations = (): UrlElicitations => createOwnership(maxPages);

/** Error code for a page that a person must visit first (MCP 2025-11-25, elicitation). */
const urlElicitationRequired = -32042;

/**
 * Returns the pages that an error requires, as the `inputRequests` of MCP 2026-07-28; undefined for any other answer.
 */
export function pagesWanted(answer: Answer): object | undefined {
  const urlElicitations = pagesIn(answer)?.filter(({ url }) => typeof url === 'string');
  return (
    urlElicitations &&
    Object.fromEntries(
      urlElicitations.map(({ message, url }, index) => [
        String(index + 1),
        { method: 'elicitation/create', params: { mode: 'url', message, url } },
      ]),
    )
  );
}

/** Records the pages to which an error sends a client. */
export function keepPages(
  answer: Answer,
  source: object,
  session: SessionState,
  urlElicitations: UrlElicitations,
): void {
  for (const { elicitationId: id } of pagesIn(answer) ?? [])
    if (typeof id === 'string') urlElicitations.add(session, { source, id, about: undefined });
}

/** Records the page to which a server's request sends a client, if any. */
export function keepPage(
  { bytes, method, params }: Request,
  source: object,
  session: SessionState,
  urlElicitations: UrlElicitations,
): void {
  if (method !== 'elicitation/create') return;
  const id = stringAt(bytes, membersOf(bytes, params)?.get('elicitationId'));
  if (id !== undefined) urlElicitations.add(session, { source, id, about: undefined });
}

type Page = { readonly [name: string]: unknown };

/** Returns the pages that an error requires; undefined for any other answer. */
function pagesIn({ failed, bytes, payload }: Answer): readonly Page[] | undefined {
  const error = failed ? membersOf(bytes, payload) : undefined;
  if (valueOf(bytes, error?.get('code')) !== urlElicitationRequired) return undefined;
  const data = valueOf(bytes, error?.get('data'));
  const listed: unknown = isObject(data) ? data['elicitations'] : undefined;
  const urlElicitations: unknown[] = Array.isArray(listed) ? listed : [];
  return urlElicitations.filter(isObject);
}
