import type { Naming, ServerConfig } from '#config';
import { type Clock, HubError, retryable } from '#core';
import { isStateless, keepsSessions } from '#mcp';
import { type Instances, type Server, type Servers, maySpeakBoth } from '#servers';
import type { Call } from './call.ts';
import type { ToolSource } from './catalog.ts';
import { instanceKeyOf } from './client-identity.ts';
import { type MayEnd, createEndable } from './endable-instances.ts';
import { type Offering, createOffering } from './lists.ts';
import type { InstanceHolder, SessionState } from './session.ts';

export type ClientInstances = ReturnType<typeof createClientInstances>;

/** Finds the instance that serves a client, and the client's offering on the endpoint of all servers. */
export function createClientInstances(
  naming: () => Naming,
  {
    servers,
    clock,
    sessions,
    tools,
  }: {
    readonly tools?: ToolSource;
    readonly servers: Servers;
    readonly clock: Pick<Clock, 'after' | 'monotonic'>;
    readonly sessions: () => readonly SessionState[];
  },
) {
  const { instances } = servers;
  const shared = createOffering(naming, { servers, clock }, undefined, tools);
  const bases = new WeakMap<Server, Server>();
  const baseOf = (server: Server) => bases.get(server) ?? server;
  const endable = createEndable(sessions);
  const stateless = createStatelessClients({ instances });
  const older = createOlderClients(instances, olderChanged);

  function build(holder: InstanceHolder): void {
    holder.own?.catalog[Symbol.dispose]();
    const isOlder = stateless.find(holder) === undefined;
    const instanceOf = (server: Server) =>
      holder.instances.get(server) ?? (isOlder ? older.find(server) : undefined);
    holder.own = createOffering(naming, { servers, clock }, instanceOf, tools);
  }

  /** Rebuilds the offerings when another instance starts to serve clients of 2025-11-25 and older. */
  function olderChanged(): void {
    for (const holder of [older.holder, ...sessions()]) if (holder.own) build(holder);
  }

  /**
   * Returns the instance that serves the client of a call. Clients without a session are identified by their
   * `clientInfo`; clients without `clientInfo` share an instance. Throws HUB_INSTANCES_FULL.
   */
  function instanceFor(server: Server, call: Call): Server {
    const { session } = call;
    const { instance, launch } = server.config;
    if (instance === 'shared')
      return keepsSessions(call) && launch.kind === 'remote' ? older.instanceOf(server) : server;
    if (keepsSessions(call))
      return session.client
        ? instances.of(server, session, session.client, endable(server, call.principal))
        : server;
    return stateless.instanceOf(server, instanceKeyOf(call), endable(server, call.principal));
  }

  /** Returns the offering for a client with a session. */
  const offeringOf = ({ own }: Pick<SessionState, 'own'>): Offering =>
    own ?? older.holder.own ?? shared;

  return {
    shared,
    baseOf,
    instanceFor,
    offeringOf,
    /**
     * Returns the offering for the client of a call: its own if its instances offer different items, else the shared
     * one.
     */
    offeringFor(call: Call): Offering {
      if (keepsSessions(call)) return offeringOf(call.session);
      const own = stateless.hasOfferings ? stateless.offeringOf(instanceKeyOf(call)) : undefined;
      return own ?? shared;
    },
    /** True if the instance serves the client without a session that has this identity key. */
    isOf: (client: string, instance: Server) => stateless.isOf(client, instance),
    /** Starts the separate instances of servers that serve clients of 2025-11-25 and older. */
    prepareOlder() {
      for (const server of servers.all) older.prepare(server);
    },
    /** Finds the instance for clients of 2025-11-25 and older; undefined before it was opened. */
    findOlder: older.find,
    /**
     * Returns the server for which clients of 2025-11-25 and older share this instance; undefined for any other
     * instance.
     */
    olderBaseOf(instance: Server): Server | undefined {
      const base = baseOf(instance);
      return older.find(base) === instance ? base : undefined;
    },
    /** Records an instance that was opened for a session or another holder of instances. Returns the holder. */
    opened(base: Server, instance: Server, session: object): InstanceHolder | undefined {
      bases.set(instance, base);
      const isOlder = session === older.holder;
      const holder = isOlder
        ? older.holder
        : (sessions().find(one => one === session) ?? stateless.find(session));
      holder?.instances.set(base, instance);
      if (isOlder) olderChanged();
      else if (holder?.own) build(holder);
      return holder;
    },
    /** Called when an instance of the holder offers other items than its server. */
    differs(holder: InstanceHolder): void {
      if (!holder.own) build(holder);
    },
    serverRemoved(server: Server): void {
      older.holder.instances.delete(server);
    },
  };
}

/**
 * Manages clients of 2025-11-25 and older at remote servers that speak both eras: these clients share one connection
 * in their own era. `changed` is called when another instance starts to serve them.
 */
function createOlderClients(instances: Pick<Instances, 'forOlderClients'>, changed: () => void) {
  const holder: InstanceHolder = { instances: new Map(), own: undefined };
  /** Entries of servers that only speak the newer era. */
  const newerOnly = new WeakSet<ServerConfig>();

  /**
   * Returns the instance for older clients: `server` itself if it does not speak both eras. Throws like
   * `Instances.of`.
   */
  function instanceOf(server: Server): Server {
    if (!maySpeakBoth(server) || newerOnly.has(server.config)) return server;
    const instance = instances.forOlderClients(server, holder);
    if (!isStateless(instance.running?.serverInfo)) return instance;
    newerOnly.add(server.config);
    holder.instances.delete(server);
    void instance.stop(false);
    changed();
    return server;
  }

  return {
    holder,
    find: (server: Server) => holder.instances.get(server),
    instanceOf,
    prepare(server: Server): void {
      try {
        const instance = instanceOf(server);
        if (instance !== server) instance.start();
      } catch (error) {
        // Ignores a stopped or removed server. Calls to it get the error.
        if (!(error instanceof HubError)) throw error;
      }
    },
  };
}

/** Maximum number of clients without a session. A further client replaces the least recently used idle client. */
export const maxStatelessClients = 100;

/** Manages the instances of clients without a session. All requests with one identity belong to one client. */
export function createStatelessClients({
  instances,
}: {
  readonly instances: Pick<Instances, 'of' | 'release' | 'isBusy'>;
}) {
  /** Clients by identity, least recently used first. */
  const clients = new Map<string, InstanceHolder>();
  const holders = new WeakMap<object, InstanceHolder>();

  /** Returns the client to remove for a new client; undefined if there is room. Throws HUB_INSTANCES_FULL. */
  function spareFor({ config }: Server): string | undefined {
    if (clients.size < maxStatelessClients) return undefined;
    for (const [client, holder] of clients)
      if (![...holder.instances.values()].some(instance => instances.isBusy(instance)))
        return client;
    throw retryable(
      'HUB_INSTANCES_FULL',
      `${config.name} works for ${clients.size} clients without a session already. Try again later, or let clients share it with "instance": "shared"`,
      { server: config.name },
    );
  }

  function forget(client: string): void {
    const holder = clients.get(client);
    if (!holder) return;
    clients.delete(client);
    holders.delete(holder);
    holder.own?.catalog[Symbol.dispose]();
    instances.release(holder);
  }

  return {
    /**
     * Returns the instance that serves a client, given by its identity. Throws HUB_INSTANCES_FULL if all are in use,
     * and `mayEnd` selects none to stop.
     */
    instanceOf(base: Server, client: string, mayEnd: MayEnd): Server {
      const known = clients.get(client);
      const spare = known ? undefined : spareFor(base);
      const holder: InstanceHolder = known ?? { instances: new Map(), own: undefined };
      holders.set(holder, holder);
      // The instance is opened first: if that is refused, the new client is not stored, and no other client is
      // removed.
      const instance = instances.of(base, holder, undefined, mayEnd);
      if (spare !== undefined) forget(spare);
      holder.instances.set(base, instance);
      clients.delete(client);
      clients.set(client, holder);
      return instance;
    },
    isOf(client: string, instance: Server): boolean {
      const held = clients.get(client)?.instances.values() ?? [];
      return [...held].includes(instance);
    },
    offeringOf: (client: string) => clients.get(client)?.own,
    get hasOfferings() {
      for (const { own } of clients.values()) if (own) return true;
      return false;
    },
    /** Returns the identity of the client that `instances` knows by this holder. */
    find: (holder: object) => holders.get(holder),
  };
}
