import type { SessionState } from '../session.ts';

/** An object that a session has at a server, with the server's id for it. */
export type OwnedId<About> = {
  /** The server or instance that issued the id. The id is valid only there. */
  readonly source: object;
  readonly id: string;
  readonly about: About;
};

/** Records which session owns what at a server, such as tasks. A shared server does not distinguish its sessions. */
export interface Ownership<About> {
  /** Number of ids with an owner. */
  readonly size: number;
  /** Adds a claim, unless the session already has it. */
  add(session: SessionState, claim: OwnedId<About>): void;
  /** The owner; also undefined if several sessions have the same id, because the owner is then ambiguous. */
  ownerOf(source: object, id: string): SessionState | undefined;
  /** True if any session has a claim at the source. */
  isHeld(source: object): boolean;
  /** The claims of a session, oldest first. */
  of(session: SessionState): readonly OwnedId<About>[];
  remove(session: SessionState, source: object, id: string): void;
  /** Removes all claims of a closed session. */
  removeAll(session: SessionState): void;
  /** Removes all claims at a server that is gone. */
  sourceGone(source: object): void;
}

/** Claims with a limit per session. The oldest claims beyond the limit are dropped. */
export function createOwnership<About>(maxPerSession: number): Ownership<About> {
  const bySession = new Map<SessionState, OwnedId<About>[]>();
  const bySource = new Map<object, Map<string, Set<SessionState>>>();

  function forget(session: SessionState, { source, id }: OwnedId<About>): void {
    const ids = bySource.get(source);
    const holders = ids?.get(id);
    holders?.delete(session);
    if (holders?.size === 0) ids?.delete(id);
    if (ids?.size === 0) bySource.delete(source);
  }

  /** Replaces the claims of a session. */
  function keep(session: SessionState, claims: OwnedId<About>[]): void {
    if (claims.length > 0) bySession.set(session, claims);
    else bySession.delete(session);
  }

  return {
    get size() {
      return [...bySource.values()].reduce((sum, ids) => sum + ids.size, 0);
    },
    isHeld: source => bySource.has(source),
    add(session, claim) {
      const { source, id } = claim;
      const ids = bySource.get(source) ?? new Map<string, Set<SessionState>>();
      const holders = ids.get(id) ?? new Set<SessionState>();
      if (holders.has(session)) return;
      bySource.set(source, ids.set(id, holders.add(session)));
      const claims = bySession.get(session) ?? [];
      claims.push(claim);
      keep(session, claims);
      const oldest = claims.length > maxPerSession ? claims.shift() : undefined;
      if (oldest) forget(session, oldest);
    },
    ownerOf(source, id) {
      const holders = bySource.get(source)?.get(id);
      const [only] = holders?.size === 1 ? holders : [];
      return only;
    },
    of: session => bySession.get(session) ?? [],
    remove(session, source, id) {
      const [gone, kept] = partition(
        bySession.get(session) ?? [],
        claim => claim.source === source && claim.id === id,
      );
      for (const claim of gone) forget(session, claim);
      keep(session, kept);
    },
    removeAll(session) {
      for (const claim of bySession.get(session) ?? []) forget(session, claim);
      bySession.delete(session);
    },
    sourceGone(source) {
      const holders = [...(bySource.get(source)?.values() ?? [])].flatMap(found => [...found]);
      bySource.delete(source);
      for (const session of new Set(holders))
        keep(session, partition(bySession.get(session) ?? [], one => one.source === source)[1]);
    },
  };
}

/** Splits a list into the elements that match and the others. */
function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): readonly [T[], T[]] {
  return [all.filter(isFirst), all.filter(one => !isFirst(one))];
}
