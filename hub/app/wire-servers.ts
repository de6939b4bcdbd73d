import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { PackageSpec, ServerConfig, Settings } from '#config';
import type { Clock, Log, Service } from '#core';
import { type Trial, createFolderUpkeep, maxUnfinished, tryServerLazily } from '#installs';
import type { SharedBreaker } from '#resilience';
import type { LaunchEvents, LaunchSpec, Runtime, Upkeep } from '#runtimes';
import { type Exposure, createDockerRuntime } from '#runtimes/docker';
import {
  type KeptListings,
  type Placement,
  type Servers,
  createEras,
  createHandles,
  createKeptListings,
  createServers,
  digestOf,
  isExclusive,
  maxEras,
  maxHandles,
  successorVariant,
  planLaunch,
  serverFolder,
} from '#servers';
import {
  type Backlog,
  type DataDir,
  type Table,
  createBacklog,
  createFolder,
  createTable,
} from '#store';

export type FleetOptions = {
  readonly configs: readonly ServerConfig[];
  readonly settings: Settings;
  readonly version: string;
  /** The folder of the image contexts. */
  readonly imagesDir: string;
  /** What child processes may inherit from, and no more than a few names of it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
};

type Needs = {
  readonly dataDir: Pick<DataDir, 'path' | 'hubId' | 'secret'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Takes out of what servers say whatever must not be shown. */
  readonly redact: (text: string) => string;
  readonly breakerOf: (config: ServerConfig) => SharedBreaker;
  /** The package of the same name in another registry, as entries name it. Never rejects. */
  readonly findElsewhere: (source: PackageSpec, signal: AbortSignal) => Promise<string | undefined>;
};

/** The servers, and what they run on. */
export type Fleet = {
  readonly servers: Servers;
  readonly docker: Runtime & Service & { readonly exposure: Exposure };
  readonly place: Placement;
  readonly listings: KeptListings;
  /** What installs under way may make, for the next run of a hub that is killed meanwhile. */
  readonly unfinished: Table;
  /** Files that could not be written, which `/health` names and retries. */
  readonly backlog: Backlog;
  readonly upkeeps: { readonly docker: Upkeep; readonly process: Upkeep };
  /** What a config launches. Throws HUB_LAUNCH_INVALID. */
  specOf(config: ServerConfig): LaunchSpec;
  /** Starts a server once, under a name of its own, and ends it. */
  trial(config: ServerConfig, events: LaunchEvents, signal: AbortSignal): Promise<Trial>;
};

/** Where a network has a certificate authority of its own, npx and uvx must know it. No secrets. */
const trustSettings = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'];
const probeMs = 3_000;
/** Where servers run, in the data folder, once an engine has answered. */
const placeFile = 'place.json';
/** The servers that run, for a later run of the hub, in the data folder. */
const handlesFile = 'handles.json';
/** What the servers offered when they last ran, in the data folder. */
const listingsFolder = 'listings';
/** What the packages of servers were resolved to when they were built, in the data folder. */
const locksFolder = 'locks';
/** What installs under way may make, in the data folder. */
const unfinishedFile = 'installs.json';
/** Which era the servers speak, in the data folder. */
const erasFile = 'eras.json';

/** Finds the engine, and what an earlier run of the hub has left. Starts nothing. */
export async function createFleet(options: FleetOptions, needs: Needs): Promise<Fleet> {
  const { settings, version } = options;
  const { dataDir, clock, log } = needs;
  const backlog = createBacklog();
  const writing = { log, backlog };
  const handles = createHandles(
    createTable({ file: join(dataDir.path, handlesFile), maxEntries: maxHandles }, writing),
  );
  await handles.load();
  const docker = createDockerRuntime(
    {
      hubId: settings.hubId ?? dataDir.hubId,
      hubName: settings.hubName,
      dockerHost: settings.dockerHost,
      imagesDir: options.imagesDir,
      buildLimits: settings.build,
    },
    {
      clock,
      log,
      isAwaited: id => handles.isAwaited(id),
      isExpected: () => place.auto === 'docker',
      locks: createFolder(join(dataDir.path, locksFolder), writing),
      findElsewhere: needs.findElsewhere,
    },
  );
  const runtimes: Readonly<
    Record<Runtime['kind'], Pick<Runtime, 'launch' | 'adopt' | 'identify'>>
  > = {
    docker,
    process: createLazyRuntime(async () => {
      const { createProcessRuntime } = await import('#runtimes/process');
      const { environment } = options;
      const inherited = { environment, alsoInherited: trustSettings, platform: process.platform };
      return createProcessRuntime(inherited, { clock });
    }),
    remote: createLazyRuntime(async () => {
      const { createRemoteRuntime } = await import('#runtimes/remote');
      return createRemoteRuntime({}, { clock, log, random: Math.random });
    }),
  };
  const place = await findPlace(docker, settings, dataDir.path, log);

  /** What all clients share may outlive the hub. */
  const specOf = (wanted: ServerConfig, instance?: string): LaunchSpec => {
    const spec = planLaunch(wanted, place, instance);
    if (instance !== undefined && instance !== successorVariant) return spec;
    return { ...spec, digest: digestOf({ ...spec, instance: '' }, dataDir.secret) };
  };

  async function launch(
    wanted: ServerConfig,
    events: LaunchEvents,
    signal: AbortSignal,
    instance?: string,
  ) {
    const spec = specOf(wanted, instance);
    // A process keeps what it writes in a folder of its own; a container has volumes for that.
    if (spec.target.kind === 'process')
      await mkdir(serverFolder(place.dataDir, spec.server), { recursive: true, mode: 0o700 });
    return await runtimes[spec.target.kind].launch(inTime(spec, wanted), events, signal);
  }

  const eras = createEras({
    kept: createTable({ file: join(dataDir.path, erasFile), maxEntries: maxEras }, writing),
    log,
  });
  const listings = createKeptListings(createFolder(join(dataDir.path, listingsFolder), writing));
  const { redact } = needs;
  const starting = { clock, log, redact, random: Math.random, hubVersion: version, eras, launch };
  const servers = createServers(options.configs, {
    ...starting,
    backlog,
    breakerOf: needs.breakerOf,
    isExclusive: wanted => isExclusive(specOf(wanted)),
    digestOf: wanted => specOf(wanted).digest ?? '',
    continuity: {
      handles,
      digestOf(wanted) {
        const { target, digest } = specOf(wanted);
        return runtimes[target.kind].adopt && digest;
      },
      async adopt(wanted, handle, events, signal, variant) {
        const spec = specOf(wanted, variant);
        const { adopt } = runtimes[spec.target.kind];
        return await adopt?.(inTime(spec, wanted), handle, events, signal);
      },
    },
    async identityOf(wanted) {
      const spec = specOf(wanted);
      return await runtimes[spec.target.kind].identify?.(spec);
    },
    keptListings: listings,
  });
  await servers.recall();

  return {
    servers,
    docker,
    place,
    listings,
    backlog,
    unfinished: createTable(
      { file: join(dataDir.path, unfinishedFile), maxEntries: maxUnfinished },
      writing,
    ),
    upkeeps: { docker: docker.upkeep, process: createFolderUpkeep(place.dataDir) },
    specOf: wanted => specOf(wanted),
    trial: (wanted, events, signal) => tryServerLazily(wanted, starting, events, signal),
  };
}

/** A runtime whose code is loaded with its first server: most hubs have servers of one kind. */
function createLazyRuntime(load: () => Promise<Pick<Runtime, 'launch'>>): Pick<Runtime, 'launch'> {
  let loaded: Promise<Pick<Runtime, 'launch'>> | undefined;
  return {
    launch: async (spec, events, signal) =>
      await (await (loaded ??= load())).launch(spec, events, signal),
  };
}

/** No part of the digest of a spec: a server goes on as it is where only this is changed. */
const inTime = (spec: LaunchSpec, { startTimeoutMs }: ServerConfig): LaunchSpec => ({
  ...spec,
  timeoutMs: startTimeoutMs,
});

/**
 * Where `runtime: auto` puts servers. It is decided once: an engine that goes away later is waited for, also by
 * the next run of the hub, as what ran in containers may run there still, and has its data there.
 */
async function findPlace(
  docker: Pick<Runtime, 'probe'>,
  settings: Settings,
  folder: string,
  log: Log,
): Promise<Placement> {
  const dataDir = resolve(settings.dataDir);
  const file = join(resolve(folder), placeFile);
  const kept = createTable({ file, maxEntries: 1 }, { log });
  const { healthy, detail } = await docker.probe(AbortSignal.timeout(probeMs));
  if (healthy || settings.inContainer) {
    if (healthy) await kept.put('auto', 'docker');
    log.info({ engine: detail }, 'servers run in containers');
    return { auto: 'docker', dataDir };
  }
  if ((await kept.find('auto')) === 'docker') {
    log.warn(
      { engine: detail },
      `NO DOCKER ENGINE ANSWERS: servers ran in containers before, and wait for it. To have them run as processes of this machine instead, without a sandbox and without the data in their volumes, remove ${file} and start the hub again`,
    );
    return { auto: 'docker', dataDir };
  }
  log.warn(
    { engine: detail },
    'NO DOCKER ENGINE ANSWERS: servers run as processes of this machine, with your rights and without a sandbox',
  );
  return { auto: 'process', dataDir };
}
