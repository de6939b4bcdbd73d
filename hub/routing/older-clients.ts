import type { ServerConfig } from '#config';
import { HubError } from '#core';
import type { Instances, Server } from '#servers';
import { isStateless } from './bridge/eras.ts';
import type { InstanceHolder } from './session.ts';

/**
 * Clients of 2025-11-25 and older at servers elsewhere that speak both eras: they share one connection to each, in
 * their own era, beside the one of all others.
 */
export interface OlderClients {
  /** The instance that works for them: `server` itself where it is not one of those. Throws as `Instances.of` does. */
  instanceOf(server: Server): Server;
  /** Starts that instance, where it is not the server itself: its lists are what such clients are shown. */
  prepare(server: Server): void;
  /** That instance, where there is one by now. */
  find(server: Server): Server | undefined;
  /** What stands for all of them. */
  readonly holder: InstanceHolder;
}

/** `changed` is called where another instance works for them from now on. */
export function createOlderClients(needs: {
  readonly instances: Pick<Instances, 'forOlderClients'>;
  readonly changed: () => void;
}): OlderClients {
  const holder: InstanceHolder = { instances: new Map(), own: undefined };
  /** Entries whose servers turned out to speak the newer era only. */
  const newerOnly = new WeakSet<ServerConfig>();

  function speaksBoth({ config, running }: Server): boolean {
    const { launch } = config;
    return (
      config.era === 'auto' &&
      launch.kind === 'remote' &&
      launch.transport === 'http' &&
      isStateless(running?.introduction) &&
      !newerOnly.has(config)
    );
  }

  function instanceOf(server: Server): Server {
    if (!speaksBoth(server)) return server;
    const instance = needs.instances.forOlderClients(server, holder);
    if (!isStateless(instance.running?.introduction)) return instance;
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
        // A server that is stopped or removed has nothing to prepare: calls are told why.
        if (!(error instanceof HubError)) throw error;
      }
    },
  };
}
