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

/** Of more clients of one server, that which was not there for longest is forgotten. */
const maxClients = 100;

export type StatelessClientsNeeds = {
  readonly instances: Pick<Instances, 'of' | 'release'>;
  /** Whether a call at the instance waits for its client. */
  readonly isWaiting: (instance: Server) => boolean;
  readonly mayEnd: (session: object) => boolean;
};

export function createStatelessClients(needs: StatelessClientsNeeds): StatelessClients {
  const { instances, isWaiting, mayEnd } = needs;
  /** What stands for a session in `instances`: for each client as many as it needs, the first mostly. */
  const holders = new Map<Server, Map<string, object[]>>();

  function holdersOf(base: Server, client: string): object[] {
    const clients = holders.get(base) ?? new Map<string, object[]>();
    holders.set(base, clients);
    const known = clients.get(client) ?? [];
    clients.delete(client);
    clients.set(client, known);
    const [oldest] = clients.size > maxClients ? clients : [];
    if (oldest) {
      clients.delete(oldest[0]);
      for (const holder of oldest[1]) instances.release(holder);
    }
    return known;
  }

  return {
    instanceOf(base, client) {
      const known = holdersOf(base, client);
      for (const holder of known) {
        const instance = instances.of(base, holder, undefined, mayEnd);
        if (!isWaiting(instance)) return instance;
      }
      const holder = {};
      const instance = instances.of(base, holder, undefined, mayEnd);
      known.push(holder);
      return instance;
    },
  };
}
