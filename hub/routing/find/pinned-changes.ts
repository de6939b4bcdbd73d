import { type Principal, principalKey } from '#policy';
import type { ListKind, Server } from '#servers';
import type { Access } from '../access.ts';
import { type Catalog, type CatalogEntry, sameEntries } from '../catalog.ts';
import type { Endpoint } from '../session.ts';

export type PinnedChanges = ReturnType<typeof createPinnedChanges>;

/**
 * Decides which principals get a list changed notification on the endpoint of all servers. A client in find mode lists
 * only pinned tools, so that changes of other tools do not concern it. Compares the lists before and after each
 * change.
 */
export function createPinnedChanges({
  access,
  catalog,
  baseOf,
}: {
  readonly access: Pick<Access, 'findOf' | 'viewOf'>;
  readonly catalog: Pick<Catalog, 'list'>;
  readonly baseOf: (instance: Server) => Server;
}) {
  let before = catalog.list('tool');

  return {
    /**
     * Returns a function that is true for principals whose list has changed on the endpoint of all servers. `source`:
     * the changed list, of all servers or of one instance.
     */
    announcing(source: Endpoint, kind: ListKind): (principal: Principal) => boolean {
      if (kind !== 'tool') return () => true;
      const after = catalog.list('tool');
      const [old, base] = [before, source === 'all' ? undefined : baseOf(source)];
      if (source === 'all') before = after;
      function concerns(principal: Principal): boolean {
        if (!access.findOf(principal)) return true;
        const view = access.viewOf(principal);
        const listed = (entries: readonly CatalogEntry[]) =>
          entries.filter(entry => view?.shows('tool', entry) ?? true);
        return base
          ? listed(after).some(({ server }) => server === base)
          : !sameEntries(listed(old), listed(after));
      }
      /** Results by client and profile, because a client often has many sessions. */
      const known = new Map<string, boolean>();
      return principal => {
        const key = JSON.stringify([principalKey(principal), principal.profile]);
        const found = known.get(key) ?? concerns(principal);
        known.set(key, found);
        return found;
      };
    },
  };
}
