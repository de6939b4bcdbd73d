import type { Naming } from '#config';
import type { Clock } from '#core';
import type { Server, Servers } from '#servers';
import { type Catalog, createCatalog } from './catalog.ts';
import { type Lists, createLists } from './lists.ts';

/** The items on the endpoint of all servers, and their lists. */
export type Offering = { readonly catalog: Catalog; readonly lists: Lists };

export type OfferingNeeds = {
  readonly servers: Pick<Servers, 'all' | 'changed'>;
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
};

/** Creates the offering of all servers. An instance that `instanceOf` returns replaces its server. */
export function createOffering(
  naming: () => Naming,
  { servers, clock }: OfferingNeeds,
  instanceOf?: (server: Server) => Server | undefined,
): Offering {
  const offersOf = (server: Server) => instanceOf?.(server) ?? server;
  const catalog = createCatalog(servers, naming, [], offersOf);
  const offering = {
    get all() {
      return servers.all.map(offersOf);
    },
  };
  const isOwn = instanceOf !== undefined;
  return { catalog, lists: createLists({ catalog, servers: offering, clock, isOwn }) };
}
