import { HubError } from '#core';
import type { Instances, Server } from '#servers';

/**
 * Instances for clients without a session, of servers that each client is to have for itself: all that
 * say to be the same client have one together. While a call there waits for its client, the next has
 * another instance, since the server could not say which of the two it asks about.
 */
export interface StatelessClients {
  /**
   * The instance for a client; `client` is what it says of itself. Throws HUB_INSTANCES_FULL where all
   * instances that there may be are in use.
   */
  instanceOf(base: Server, client: string): Server;
}

/** Of more clients of one server, that which was not there for longest is forgotten, if it is idle. */
export const maxStatelessClients = 100;

export type StatelessClientsNeeds = {
  readonly instances: Pick<Instances, 'of' | 'release' | 'isBusy'>;
  /** Whether a call at the instance waits for its client. */
  readonly isWaiting: (instance: Server) => boolean;
  readonly mayEnd: (session: object) => boolean;
};

/** An instance, and what stands for a session in `instances`. */
type Held = { readonly holder: object; readonly instance: Server };

/** Of one server, by client: for each as many as it needs, the first mostly. That which came last is last. */
type Clients = Map<string, Held[]>;

export function createStatelessClients(needs: StatelessClientsNeeds): StatelessClients {
  const { instances, isWaiting, mayEnd } = needs;
  const byServer = new Map<Server, Clients>();

  /** Who is forgotten for one more client: undefined where there is room. Throws HUB_INSTANCES_FULL. */
  function spareOf({ config }: Server, clients: Clients): string | undefined {
    if (clients.size < maxStatelessClients) return undefined;
    for (const [client, held] of clients)
      if (!held.some(({ instance }) => instances.isBusy(instance))) return client;
    throw new HubError(
      'HUB_INSTANCES_FULL',
      `${config.name} works for ${clients.size} clients without a session already. Try again later, or let clients share it with "instance": "shared"`,
      { data: { server: config.name, retryable: true } },
    );
  }

  function forget(clients: Clients, client: string): void {
    for (const { holder } of clients.get(client) ?? []) instances.release(holder);
    clients.delete(client);
  }

  return {
    instanceOf(base, client) {
      const clients: Clients = byServer.get(base) ?? new Map();
      const known = clients.get(client);
      const spare = known ? undefined : spareOf(base, clients);
      const holder = known?.find(({ instance }) => !isWaiting(instance))?.holder ?? {};
      const instance = instances.of(base, holder, undefined, mayEnd);
      // Nothing is kept of a client who was refused, and nobody makes room for it.
      if (spare !== undefined) forget(clients, spare);
      const held = known ?? [];
      if (!held.some(one => one.holder === holder)) held.push({ holder, instance });
      clients.delete(client);
      byServer.set(base, clients.set(client, held));
      return instance;
    },
  };
}
