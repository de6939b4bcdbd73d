import type { SessionState } from '../session.ts';

/** Something that a session has at a server, by the id that it has there. */
export type Claim<About> = {
  /** The server, or the instance of it, whose ids are of no meaning at another. */
  readonly source: object;
  readonly id: string;
  readonly about: About;
};

/** What sessions have at servers, such as tasks: a server that they share tells them not apart. */
export interface Ownership<About> {
  /** How many ids are kept: of what nobody has any more, nothing is. */
  readonly size: number;
  /** Keeps a claim, unless the session has it already. */
  add(session: SessionState, claim: Claim<About>): void;
  /** Who has it; undefined also where several sessions have one of that id, as it cannot be told whose. */
  ownerOf(source: object, id: string): SessionState | undefined;
  /** Whether any session has anything there. */
  isHeld(source: object): boolean;
  /** What a session has, oldest first. */
  of(session: SessionState): readonly Claim<About>[];
  remove(session: SessionState, source: object, id: string): void;
  /** The session is over. */
  removeAll(session: SessionState): void;
  /** The server is gone, and with it all that anybody had there. */
  sourceGone(source: object): void;
}

/** Claims, of which each session may have so many: of more, the oldest are forgotten. */
export function createOwnership<About>(maxPerSession: number): Ownership<About> {
  const bySession = new Map<SessionState, Claim<About>[]>();
  const bySource = new Map<object, Map<string, Set<SessionState>>>();

  function forget(session: SessionState, { source, id }: Claim<About>): void {
    const ids = bySource.get(source);
    const holders = ids?.get(id);
    holders?.delete(session);
    if (holders?.size === 0) ids?.delete(id);
    if (ids?.size === 0) bySource.delete(source);
  }

  /** Keeps of a session's claims those that are to stay. */
  function keep(session: SessionState, claims: Claim<About>[]): void {
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

/** Those of a list that something is true of, and the others. */
function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): readonly [T[], T[]] {
  return [all.filter(isFirst), all.filter(one => !isFirst(one))];
}
