import type { ServerConfig } from '#config';
import { HubError } from '#core';
import { type Instances, createInstances } from './instances.ts';
import type { Server, ServerNeeds } from './server.ts';
import { createServer } from './supervise.ts';
import { aborted } from './within.ts';

/** Every configured server, in the order of the config. */
export interface Servers {
  readonly all: readonly Server[];
  /** What sessions have for themselves of those that they do not share. */
  readonly instances: Instances;
  find(name: string): Server | undefined;
  /** Throws HUB_SERVER_UNKNOWN, naming those that exist. */
  get(name: string): Server;
  /** Starts those that start with the hub, all at once; waits for none. */
  startAll(): void;
  /** Resolves when none of them is starting, when the signal aborts, or after `withinMs`. */
  settled(withinMs: number, signal: AbortSignal): Promise<void>;
  /** Ends all of them at once and for good, and resolves when nothing of them is left. */
  stopAll(): Promise<void>;
}

/** The servers of a config. Starts nothing. */
export function createServers(
  configs: readonly ServerConfig[],
  needs: Omit<ServerNeeds, 'instances'>,
): Servers {
  const instances: Instances = createInstances({
    clock: needs.clock,
    create: own => createServer(own.base.config, serverNeeds, own),
  });
  const serverNeeds: ServerNeeds = { ...needs, instances };
  const byName = new Map(
    configs.map(config => [config.name, createServer(config, serverNeeds)] as const),
  );
  const all = [...byName.values()];
  return {
    all,
    instances,
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
    async settled(withinMs, signal) {
      const isStarting = () => all.some(({ status }) => status.state === 'starting');
      const { promise, resolve } = Promise.withResolvers<void>();
      using _ = needs.clock.after(withinMs, resolve);
      const heard = all.map(server =>
        server.changed(() => {
          if (!isStarting()) resolve();
        }),
      );
      if (isStarting()) await Promise.race([promise, aborted(signal)]);
      for (const one of heard) one[Symbol.dispose]();
    },
    async stopAll() {
      await Promise.all([instances.stopAll(), ...all.map(server => server.close())]);
    },
  };
}
