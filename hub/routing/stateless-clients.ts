import { HubError } from '#core';
import type { Instances, Server } from '#servers';
import type { Offering } from './offering.ts';
import type { InstanceHolder } from './session.ts';

/** Clients without a session that have instances for themselves: all requests of one identity are of one client. */
export interface StatelessClients {
  /**
   * The instance that works for a client, given by its identity. Throws HUB_INSTANCES_FULL where all instances that
   * there may be are in use.
   */
  instanceOf(base: Server, client: string): Server;
  /** Whether an instance works for the client. */
  isOf(client: string, instance: Server): boolean;
  /** What the client finds on the endpoint of all servers; undefined where that is what everybody finds. */
  offeringOf(client: string): Offering | undefined;
  /** Whether any client finds something of its own there. */
  readonly hasOfferings: boolean;
  /** The client that `instances` knows as this holder. */
  find(holder: object): InstanceHolder | undefined;
}

/** Of more clients, the one that was not there for longest is forgotten, if it is idle. */
export const maxStatelessClients = 100;

export type StatelessClientsNeeds = {
  readonly instances: Pick<Instances, 'of' | 'release' | 'isBusy'>;
  readonly mayEnd: (holder: object) => boolean;
};

export function createStatelessClients({
  instances,
  mayEnd,
}: StatelessClientsNeeds): StatelessClients {
  /** By identity. The client that came last is last. */
  const clients = new Map<string, InstanceHolder>();
  /** A client that is about to get its first instance. */
  let opening: InstanceHolder | undefined;

  /** Who is forgotten for one more client: undefined where there is room. Throws HUB_INSTANCES_FULL. */
  function spareFor({ config }: Server): string | undefined {
    if (clients.size < maxStatelessClients) return undefined;
    for (const [client, holder] of clients)
      if (![...holder.instances.values()].some(instance => instances.isBusy(instance)))
        return client;
    throw new HubError(
      'HUB_INSTANCES_FULL',
      `${config.name} works for ${clients.size} clients without a session already. Try again later, or let clients share it with "instance": "shared"`,
      { data: { server: config.name, retryable: true } },
    );
  }

  function forget(client: string): void {
    const holder = clients.get(client);
    if (!holder) return;
    clients.delete(client);
    holder.own?.catalog[Symbol.dispose]();
    instances.release(holder);
  }

  return {
    instanceOf(base, client) {
      const known = clients.get(client);
      const spare = known ? undefined : spareFor(base);
      const holder: InstanceHolder = known ?? { instances: new Map(), own: undefined };
      opening = holder;
      // Nothing is kept of a client that is refused, and no other makes room for it.
      const instance = instances.of(base, holder, undefined, mayEnd);
      if (spare !== undefined) forget(spare);
      holder.instances.set(base, instance);
      clients.delete(client);
      clients.set(client, holder);
      return instance;
    },
    isOf(client, instance) {
      const held = clients.get(client)?.instances.values() ?? [];
      return [...held].includes(instance);
    },
    offeringOf: client => clients.get(client)?.own,
    get hasOfferings() {
      for (const { own } of clients.values()) if (own) return true;
      return false;
    },
    find(holder) {
      if (opening === holder) return opening;
      for (const one of clients.values()) if (one === holder) return one;
      return undefined;
    },
  };
}
