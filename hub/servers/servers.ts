import { type Config, type ServerConfig, diffConfigs } from '#config';
import { HubError, createEmitter, untilAborted } from '#core';
import type { Backlog, WriteFailure } from '#store';
import { type Instances, createInstances } from './instances/instances.ts';
import type { Server, ServerNeeds } from './server-types.ts';
import { createServer } from './server.ts';

/** The result of applying a config. */
export type Applied = {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
  /** Servers that keep their old entry because the new one did not start. */
  readonly failed: readonly { readonly server: string; readonly error: HubError }[];
  readonly unchanged: number;
};

/** All configured servers, in the order of the config. */
export type Servers = ReturnType<typeof createServers>;

/** Creates the servers of a config. Starts none of them. */
export function createServers(
  configs: readonly ServerConfig[],
  needs: Omit<ServerNeeds, 'instances'> & {
    /** Pending writes of persisted state; absent if nothing is persisted. */
    readonly backlog?: Pick<Backlog, 'retry'>;
  },
) {
  const instances: Instances = createInstances({
    clock: needs.clock,
    create: own => createServer(own.base.config, serverNeeds, own),
  });
  const serverNeeds: ServerNeeds = { ...needs, instances };
  const byName = new Map(
    configs.map(config => [config.name, createServer(config, serverNeeds)] as const),
  );
  let all = [...byName.values()];
  const changed = createEmitter<undefined>();
  const removedOne = createEmitter<Server>();
  const appliedConfig = createEmitter<undefined>();
  let applying: Promise<unknown> = Promise.resolve();
  let isOver = false;

  /** Applies a config. A server that fails does not affect the others. */
  async function applyNow(config: Config): Promise<Applied> {
    if (isOver)
      throw new HubError('HUB_SHUTTING_DOWN', 'the config is not applied: the hub is stopping');
    const { servers } = config;
    const difference = diffConfigs({ ...config, servers: all.map(one => one.config) }, config);
    const failed: { readonly server: string; readonly error: HubError }[] = [];
    const removed = difference.removed.flatMap(({ name }) => byName.get(name) ?? []);
    for (const added of difference.added) byName.set(added.name, createServer(added, serverNeeds));
    for (const { name } of difference.removed) byName.delete(name);
    all = servers.flatMap(({ name }) => byName.get(name) ?? []);
    changed.fire(undefined);
    const removing = removed.map(async server => {
      // The instances of sessions are closed first. A stop of the server would stop them, and their calls would not
      // learn that it was removed.
      await Promise.all([instances.drop(server), server.close('removed')]);
      removedOne.fire(server);
      await needs.launches?.keptListings?.forget(server.config.name);
      await needs.launches?.logs?.forget(server.config.name);
    });
    await Promise.all([
      // Added servers start after removed ones have ended: a renamed server writes to the same volumes and folders as
      // before.
      Promise.all(removing).finally(() => {
        for (const { name, enabled, autoStart } of difference.added)
          if (enabled && autoStart) byName.get(name)?.start();
      }),
      // The entry is as applied: forget another entry that was refused before.
      ...difference.unchanged.map(async after => {
        const server = byName.get(after.name);
        if (server?.refusedEntry) await server.reconfigure(after, false);
      }),
      ...difference.changed.map(async ({ after, effect }) => {
        const server = byName.get(after.name);
        if (!server) return;
        try {
          await server.reconfigure(after, effect !== 'apply');
          await instances.configure(server, effect !== 'apply');
          await needs.launches?.egress?.apply(after);
        } catch (error) {
          if (!(error instanceof HubError)) throw error;
          failed.push({ server: after.name, error });
        }
      }),
    ]);
    appliedConfig.fire(undefined);
    const names = (configs: readonly ServerConfig[]) => configs.map(({ name }) => name);
    const isFailed = (name: string) => failed.some(({ server }) => server === name);
    return {
      added: names(difference.added),
      removed: names(difference.removed),
      changed: names(difference.changed.map(({ after }) => after)).filter(name => !isFailed(name)),
      failed,
      unchanged: difference.unchanged.length,
    };
  }

  return {
    get all(): readonly Server[] {
      return all;
    },
    changed: changed.event,
    removed: removedOne.event,
    /** Fires when a new config is applied to all servers, except those for which it failed. */
    applied: appliedConfig.event,
    /** Instances that belong to sessions or to the clients of one era. */
    instances,
    /**
     * Applies a config; concurrent calls wait for each other. Each server is compared with its own applied entry, which
     * is the last one that started. Resolves when replaced servers run or have failed, and removed ones have ended;
     * added ones are starting. Rejects with HUB_SHUTTING_DOWN.
     */
    apply(config: Config): Promise<Applied> {
      const applied = applying.then(() => applyNow(config));
      applying = applied.catch(() => undefined); // The caller of `apply` gets the error.
      return applied;
    },
    find: (name: string): Server | undefined => byName.get(name),
    /** Returns a server. Throws HUB_SERVER_UNKNOWN, whose message names the configured servers. */
    get(name: string): Server {
      const server = byName.get(name);
      if (!server)
        throw new HubError(
          'HUB_SERVER_UNKNOWN',
          `no server is called ${JSON.stringify(name)}. The config has: ${[...byName.keys()].join(', ') || 'none'}`,
          { data: { server: name } },
        );
      return server;
    },
    /** Restores the saved listings, and drops saved handles that do not match what a current entry launches. */
    async recall(): Promise<void> {
      const { adoption } = needs.launches ?? {};
      await adoption?.handles.retain((name, { digest }) => {
        const config = byName.get(name)?.config;
        try {
          return config?.enabled === true && adoption.digestOf(config) === digest;
        } catch {
          return false; // The launch reports why the config cannot be launched.
        }
      });
      await Promise.all(all.map(server => server.recall()));
    },
    /** Starts the servers with auto_start, and adopts servers that outlived the hub. Does not wait for them. */
    startAll(): void {
      for (const server of all) {
        const { name, enabled, autoStart } = server.config;
        if (enabled && (autoStart || needs.launches?.adoption?.handles.find(name))) server.start();
      }
    },
    /** Retries failed writes of persisted state, and returns those that fail again. */
    unwritten: async (): Promise<readonly WriteFailure[]> => (await needs.backlog?.retry()) ?? [],
    /** Resolves when no server is starting, when the signal aborts, or after `withinMs`. */
    async settled(withinMs: number, signal: AbortSignal): Promise<void> {
      const isStarting = () => all.some(({ status }) => status.state === 'starting');
      const { promise, resolve } = Promise.withResolvers<void>();
      using _ = needs.clock.after(withinMs, resolve);
      const check = () => {
        if (!isStarting()) resolve();
      };
      using heard = new DisposableStack();
      for (const server of all) heard.use(server.changed(check));
      using ending = untilAborted(signal);
      if (isStarting()) await Promise.race([promise, ending.aborted]);
    },
    /** Ends all servers for good, and resolves when they have ended. */
    async stopAll(): Promise<void> {
      isOver = true;
      await Promise.all([
        instances.stopAll(),
        ...all.map(server => server.close('stopping')),
        // Waits for a config that is being applied, as removed servers may still be stopping.
        applying,
      ]);
    },
  };
}
