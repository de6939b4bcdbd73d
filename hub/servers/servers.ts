import { type Config, type ServerConfig, diffConfigs } from '#config';
import { type Event, HubError, createEmitter, untilAborted } from '#core';
import type { Backlog, WriteFailure } from '#store';
import { type Instances, createInstances } from './instances/instances.ts';
import type { Server, ServerNeeds } from './server-types.ts';
import { createServer } from './server.ts';

/** What became of a config that took the place of another. */
export type Applied = {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Those whose new entry is in force. */
  readonly changed: readonly string[];
  /** Those that stay as they were, as the new entry could not be brought up, with why. */
  readonly failed: readonly { readonly server: string; readonly error: HubError }[];
  /** How many there was nothing to do for. */
  readonly unchanged: number;
};

/** Every configured server, in the order of the config. */
export interface Servers {
  /** Those of the config in force. */
  readonly all: readonly Server[];
  /** Fires when others are there, or in another order. */
  readonly changed: Event<undefined>;
  /** Fires when one has ended that the config has no more. */
  readonly removed: Event<Server>;
  /** What sessions have for themselves of those that they do not share. */
  readonly instances: Instances;
  find(name: string): Server | undefined;
  /** Throws HUB_SERVER_UNKNOWN, naming those that exist. */
  get(name: string): Server;
  /**
   * Resolves when each shows what it offered when it last ran, and what no entry would launch as it was
   * launched is not waited for.
   */
  recall(): Promise<void>;
  /** Starts those that start with the hub, and goes on with those that ran on without it; waits for none. */
  startAll(): void;
  /**
   * Has a config in force: each server by itself, as it differs from what is in force for that one, which is
   * the entry that came up last. One at a time; resolves when what is replaced runs, or has failed to, and what
   * was removed is gone. What is added begins to start. Rejects with HUB_SHUTTING_DOWN.
   */
  apply(config: Config): Promise<Applied>;
  /** Tries once more to write what later runs of the hub need of them, and answers with what cannot be written. */
  unwritten(): Promise<readonly WriteFailure[]>;
  /** Resolves when none of them is starting, when the signal aborts, or after `withinMs`. */
  settled(withinMs: number, signal: AbortSignal): Promise<void>;
  /** Ends all of them at once and for good, and resolves when nothing of them is left. */
  stopAll(): Promise<void>;
}

/** The servers of a config. Starts nothing. */
export function createServers(
  configs: readonly ServerConfig[],
  needs: Omit<ServerNeeds, 'instances'> & {
    /** That of the files that are kept of them. Absent: none are. */
    readonly backlog?: Pick<Backlog, 'retry'>;
  },
): Servers {
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
  let applying: Promise<unknown> = Promise.resolve();
  let isOver = false;

  /** Undefined for what outlives no hub, or cannot be launched. */
  function digestOf(config: ServerConfig): string | undefined {
    try {
      return needs.continuity?.digestOf(config);
    } catch {
      return undefined;
    }
  }

  /** What does not come up leaves the others alone. */
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
    for (const { name, enabled, autoStart } of difference.added)
      if (enabled && autoStart) byName.get(name)?.start();
    await Promise.all([
      ...removed.map(async server => {
        await Promise.all([server.close('removed'), instances.drop(server)]);
        removedOne.fire(server);
        await needs.keptListings?.forget(server.config.name);
      }),
      // What was refused and is not wanted any more is not in doubt either.
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
        } catch (error) {
          if (!(error instanceof HubError)) throw error;
          failed.push({ server: after.name, error });
        }
      }),
    ]);
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
    get all() {
      return all;
    },
    changed: changed.event,
    removed: removedOne.event,
    instances,
    apply(config) {
      const applied = applying.then(() => applyNow(config));
      applying = applied.catch(() => undefined);
      return applied;
    },
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
    async recall() {
      await needs.continuity?.handles.retain((name, { digest }) => {
        const config = byName.get(name)?.config;
        return config?.enabled === true && digestOf(config) === digest;
      });
      await Promise.all(all.map(server => server.recall()));
    },
    startAll() {
      for (const server of all) {
        const { name, enabled, autoStart } = server.config;
        if (enabled && (autoStart || needs.continuity?.handles.find(name))) server.start();
      }
    },
    unwritten: async () => (await needs.backlog?.retry()) ?? [],
    async settled(withinMs, signal) {
      const isStarting = () => all.some(({ status }) => status.state === 'starting');
      const { promise, resolve } = Promise.withResolvers<void>();
      using _ = needs.clock.after(withinMs, resolve);
      const heard = all.map(server =>
        server.changed(() => {
          if (!isStarting()) resolve();
        }),
      );
      using ending = untilAborted(signal);
      if (isStarting()) await Promise.race([promise, ending.aborted]);
      for (const one of heard) one[Symbol.dispose]();
    },
    async stopAll() {
      isOver = true;
      await Promise.all([
        instances.stopAll(),
        ...all.map(server => server.close('stopping')),
        // What was removed just now may still be ending.
        applying,
      ]);
    },
  };
}
