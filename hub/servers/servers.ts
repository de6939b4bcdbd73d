import type { ServerConfig } from '#config';
import { HubError } from '#core';
import type { Server } from './server.ts';

/** Every configured server, in the order of the config. */
export interface Servers {
  readonly all: readonly Server[];
  find(name: string): Server | undefined;
  /** Throws HUB_SERVER_UNKNOWN, naming those that exist. */
  get(name: string): Server;
  /** Starts those that start with the hub, all at once; waits for none. */
  startAll(): void;
  /** Ends all of them at once and for good, and resolves when nothing of them is left. */
  stopAll(): Promise<void>;
}

/** The servers of a config, made by `create`. Starts nothing. */
export function createServers(
  configs: readonly ServerConfig[],
  create: (config: ServerConfig) => Server,
): Servers {
  const byName = new Map(configs.map(config => [config.name, create(config)] as const));
  const all = [...byName.values()];
  return {
    all,
    find: name => byName.get(name),
    get(name) {
      const server = byName.get(name);
      if (!server)
        throw new HubError(
          'HUB_SERVER_UNKNOWN',
          `no server is called ${JSON.stringify(name)}. The config has: ${[...byName.keys()].join(', ') || 'none'}`,
          { data: { server: name } },
        );
      return server;
    },
    startAll() {
      for (const server of all)
        if (server.config.enabled && server.config.autoStart) server.start();
    },
    async stopAll() {
      await Promise.all(all.map(server => server.close()));
    },
  };
}
