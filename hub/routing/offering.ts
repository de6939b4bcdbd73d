import type { Naming } from '#config';
import type { Clock } from '#core';
import type { Server, Servers } from '#servers';
import { type Catalog, createCatalog } from './catalog.ts';
import { type Lists, type OwnItems, createLists } from './lists.ts';
import { ownPrompts, ownTools } from './own-items.ts';
import type { PromptSource } from './prompt-source.ts';

/** The resource that shows the hub itself (spec 5.5). */
export const serversUri = 'hub://servers';

const ownResources = [
  JSON.stringify({
    uri: serversUri,
    name: 'servers',
    title: 'Servers of this hub',
    description: 'The servers behind this hub, their states and what each offers.',
    mimeType: 'application/json',
  }),
];

const none: readonly string[] = [];

/** What is found on the endpoint of all servers, and how it is listed. */
export type Offering = { readonly catalog: Catalog; readonly lists: Lists };

export type OfferingNeeds = {
  readonly servers: Pick<Servers, 'all' | 'changed'>;
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
  /** Absent: the hub improves no prompts. */
  readonly prompts?: Pick<PromptSource, 'isOffered'>;
};

/** What all servers offer; with `instanceOf`, what the instances that it finds offer in place of their servers. */
export function createOffering(
  naming: () => Naming,
  needs: OfferingNeeds,
  instanceOf?: (server: Server) => Server | undefined,
): Offering {
  const { servers, clock, prompts } = needs;
  const offersOf = (server: Server) => instanceOf?.(server) ?? server;
  const catalog = createCatalog(servers, naming, [serversUri], offersOf);
  const own: OwnItems = {
    resource: ownResources,
    get tool() {
      return prompts?.isOffered ? ownTools : none;
    },
    get prompt() {
      return prompts?.isOffered ? ownPrompts : none;
    },
  };
  const offering = {
    get all() {
      return servers.all.map(offersOf);
    },
  };
  const isOwn = instanceOf !== undefined;
  return { catalog, lists: createLists(own, { catalog, servers: offering, clock, isOwn }) };
}
