import type { ServerConfig } from '#config';
import { HubError } from '#core';
import type { Instances, Server } from '#servers';
import { isStateless, maySpeakBoth } from './bridge/eras.ts';
import type { InstanceHolder } from './session.ts';

/**
 * Manages clients of 2025-11-25 and older at remote servers that speak both eras. These clients share one connection
 * in their own era to each such server, beside the connection of all other clients.
 */
export interface OlderClients {
  /**
   * The instance that serves older clients: `server` itself if it does not speak both eras. Throws like
   * `Instances.of`.
   */
  instanceOf(server: Server): Server;
  /**
   * Starts the instance for older clients, if it is separate from the server. Older clients get the lists of that
   * instance.
   */
  prepare(server: Server): void;
  /** The instance for older clients; undefined before it was opened. */
  find(server: Server): Server | undefined;
  /** The holder that represents all older clients. */
  readonly holder: InstanceHolder;
}

/** `changed` is called when another instance starts to serve older clients. */
export function createOlderClients(needs: {
  readonly instances: Pick<Instances, 'forOlderClients'>;
  readonly changed: () => void;
}): OlderClients {
  const holder: InstanceHolder = { instances: new Map(), own: undefined };
  /** Entries of servers that only speak the newer era. */
  const newerOnly = new WeakSet<ServerConfig>();

  function instanceOf(server: Server): Server {
    if (!maySpeakBoth(server) || newerOnly.has(server.config)) return server;
    const instance = needs.instances.forOlderClients(server, holder);
    if (!isStateless(instance.running?.serverInfo)) return instance;
    newerOnly.add(server.config);
    holder.instances.delete(server);
    void instance.stop(false);
    needs.changed();
    return server;
  }

  return {
    holder,
    find: server => holder.instances.get(server),
    instanceOf,
    prepare(server) {
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
