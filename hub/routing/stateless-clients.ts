import { HubError } from '#core';
import type { Instances, Server } from '#servers';
import type { Offering } from './lists.ts';
import type { InstanceHolder } from './session.ts';

/**
 * Manages clients without a session that have their own instances. All requests with one identity belong to one
 * client.
 */
export interface StatelessClients {
  /**
   * The instance that serves a client, given by its identity. Throws HUB_INSTANCES_FULL if the maximum number of
   * instances is in use.
   */
  instanceOf(base: Server, client: string): Server;
  /** True if the instance serves the client. */
  isOf(client: string, instance: Server): boolean;
  /** The client's own offering on the endpoint of all servers; undefined if the client gets the shared offering. */
  offeringOf(client: string): Offering | undefined;
  /** True if any client has its own offering. */
  readonly hasOfferings: boolean;
  /** The client that `instances` uses as this holder. */
  find(holder: object): InstanceHolder | undefined;
}

/** Maximum number of clients. Beyond it, the least recently used idle client is removed. */
export const maxStatelessClients = 100;

export type StatelessClientsNeeds = {
  readonly instances: Pick<Instances, 'of' | 'release' | 'isBusy'>;
  readonly mayEnd: (holder: object) => boolean;
};

export function createStatelessClients({
  instances,
  mayEnd,
}: StatelessClientsNeeds): StatelessClients {
  /** Clients by identity, least recently used first. */
  const clients = new Map<string, InstanceHolder>();
  /** The client whose first instance is being opened. */
  let opening: InstanceHolder | undefined;

  /** The client to remove for a new client; undefined if there is room. Throws HUB_INSTANCES_FULL. */
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
      // The instance is opened first: a refused client is not stored, and no other client is removed for it.
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
