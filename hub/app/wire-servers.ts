import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type ServerConfig, type Settings, examineMounts, fixedNetwork } from '#config';
import { HubError, messageOf } from '#core';
import {
  createFolderUpkeep,
  createPins,
  maxUnfinished,
  registriesOf,
  tryServerLazily,
} from '#installs';
import type { Definitions } from '#definitions';
import type { Logs } from '#logs';
import type { AccessTokens } from '#oauth';
import type { SharedBreaker } from '#resilience';
import {
  type LaunchEvents,
  type LaunchSpec,
  type Runtime,
  type Target,
  whyNotBuilt,
} from '#runtimes';
import { createDockerRuntime } from '#runtimes/docker';
import {
  createEras,
  createHandles,
  createKeptListings,
  createServers,
  digestOf,
  isExclusive,
  maxEras,
  maxHandles,
  planLaunch,
  serverFolder,
  successorVariant,
} from '#servers';
import { type Backlog, type DataDir, createFolder, createTable } from '#store';
import { findPlace } from './find-place.ts';
import { createHubPlaces } from './hub-places.ts';
import type { System } from './system.ts';

export type ServersOptions = {
  readonly settings: Settings;
  readonly version: string;
  /** Folder of the build contexts of images. */
  readonly imagesDir: string;
  /** Environment variables of the hub. Child processes inherit only a few. */
  readonly environment: Readonly<Record<string, string | undefined>>;
};

type Needs = Pick<System, 'clock' | 'log'> & {
  readonly dataDir: Pick<DataDir, 'path' | 'hubId' | 'secret'>;
  /** Removes secrets from texts that servers send. */
  readonly redact: (text: string) => string;
  readonly logs: Logs;
  readonly definitions: Definitions;
  /** Files that could not be written. */
  readonly backlog: Backlog;
  readonly breakerOf: (config: ServerConfig) => SharedBreaker;
  readonly tokensOf: (server: string) => AccessTokens;
  /** Returns the address of the hub; undefined while it does not listen. */
  readonly hubUrl: () => string | undefined;
};

/** Certificate settings that npx and uvx need in some networks. They contain no secrets. */
const trustSettings = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'];

/** Creates the servers and their runtimes. Starts no server. */
export async function wireServers(
  configs: readonly ServerConfig[],
  options: ServersOptions,
  needs: Needs,
) {
  const { settings, version, environment } = options;
  const { dataDir, clock, log, redact, backlog, breakerOf, tokensOf, hubUrl } = needs;
  const pins = createPins(registriesOf(environment), { clock, fetch });
  const writing = { log, backlog };
  const tableIn = (name: string, maxEntries: number) =>
    createTable({ file: join(dataDir.path, name), maxEntries }, writing);
  const folderIn = (name: string) => createFolder(join(dataDir.path, name), writing);
  const handles = createHandles(tableIn('handles.json', maxHandles));
  await handles.load();
  const handlesOfAgents = createHandles(tableIn('agent-handles.json', maxHandles));
  await handlesOfAgents.load();
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
      isAwaited: id => handles.isAwaited(id) || handlesOfAgents.isAwaited(id),
      isExpected: () => place.auto === 'docker',
      locks: folderIn('locks'),
      findElsewhere: (source, signal) => pins.findElsewhere(source, signal),
      hubPlaces: createHubPlaces(settings),
    },
  );
  const inherited = { environment, alsoInherited: trustSettings, platform: process.platform };
  const runtimes: Readonly<
    Record<Runtime['kind'], Pick<Runtime, 'launch' | 'adopt' | 'identify'>>
  > = {
    docker,
    process: createLazyRuntime(async () => {
      const { createProcessRuntime, createWatcher } = await import('#runtimes/process');
      const { PATH } = environment;
      const watcher = inherited.platform === 'win32' ? undefined : createWatcher(PATH);
      return createProcessRuntime(inherited, { clock, watcher });
    }),
    remote: createLazyRuntime(async () => {
      const { createRemoteRuntime } = await import('#runtimes/remote');
      return createRemoteRuntime({}, { clock, log, random: Math.random, tokensOf, hubUrl });
    }),
  };
  const place = {
    ...(await findPlace(settings, { docker, folder: dataDir.path, log })),
    imagesDir: options.imagesDir,
  };

  /** Plans a launch. Only shared instances may outlive the hub. */
  const specOf = (wanted: ServerConfig, instance?: string): LaunchSpec => {
    const spec = planLaunch(wanted, place, instance);
    if (instance !== undefined && instance !== successorVariant) return spec;
    const fixed = { ...spec, instance: '', target: withFixedNetwork(spec.target) };
    return { ...spec, digest: digestOf(fixed, dataDir.secret) };
  };

  async function launch(
    wanted: ServerConfig,
    events: LaunchEvents,
    signal: AbortSignal,
    instance?: string,
  ) {
    const spec = specOf(wanted, instance);
    if (spec.target.kind === 'process') {
      const own = wanted.launch.kind === 'local' ? wanted.launch.own : undefined;
      const fault = own === undefined ? undefined : whyNotBuilt(options.imagesDir, own);
      if (fault !== undefined) throw new HubError('HUB_LAUNCH_INVALID', `${spec.server}: ${fault}`);
      // A process gets its own data folder. A container has volumes instead.
      await mkdir(serverFolder(place.dataDir, spec.server), { recursive: true, mode: 0o700 });
    }
    const { kind } = spec.target;
    if (kind !== 'docker') return await runtimes[kind].launch(inTime(spec, wanted), events, signal);
    const before = await requireMounts(wanted);
    const launched = await runtimes[kind].launch(inTime(spec, wanted), events, signal);
    try {
      await requireMounts(wanted, before);
      return launched;
    } catch (error) {
      await launched.stop({ graceMs: 0 });
      throw error;
    }
  }

  /** Returns the state of the mounts. Rejects if they must not be made, or have changed while the engine made them. */
  async function requireMounts(wanted: ServerConfig, before?: string): Promise<string> {
    const all = [...servers.all.map(({ config }) => config), wanted];
    const { fault, state } = await examineMounts(wanted, all);
    const { name } = wanted;
    const data = { server: name };
    if (fault !== undefined)
      throw new HubError('HUB_LAUNCH_INVALID', `${name}: ${fault}`, { data });
    if (before === undefined || state === before) return state;
    throw new HubError(
      'HUB_SERVER_START_FAILED',
      `${name}: files were moved beside a folder that it mounts, in one that a server may write to, while it was started. The hub starts it again`,
      { data },
    );
  }

  const eras = createEras({ kept: tableIn('eras.json', maxEras), secret: dataDir.secret, log });
  await eras.removeUnkeyed();
  const listings = createKeptListings(folderIn('listings'));
  /** Applies a changed list of network targets to a running server. */
  async function applyNetwork({ name, launch: wanted }: ServerConfig): Promise<void> {
    if (wanted.kind === 'remote') return;
    try {
      await docker.egress.allow(name, wanted.sandbox.network);
    } catch (error) {
      const fields = { server: name, problem: messageOf(error) };
      log.warn(fields, 'the list of network targets of the server is not applied yet');
    }
  }
  const starting = { clock, log, redact, random: Math.random, hubVersion: version, eras, launch };
  const servers = createServers(configs, {
    ...starting,
    backlog,
    breakerOf,
    launches: {
      hubId: dataDir.hubId,
      isExclusive: wanted => isExclusive(specOf(wanted)),
      digestOf: wanted => specOf(wanted).digest ?? '',
      async prepare(wanted, signal) {
        const spec = specOf(wanted);
        const progress = (text: string) => log.info({ server: wanted.name }, text);
        if (spec.target.kind === 'docker')
          await docker.upkeep.prepare(spec, { stderr: progress, progress }, signal);
      },
      adoption: {
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
      logs: needs.logs,
      definitions: needs.definitions,
      egress: { report: server => docker.egress.report(server), apply: applyNetwork },
    },
  });
  await servers.recall();

  return {
    servers,
    docker,
    place,
    listings,
    pins,
    /** Containers and volumes that running installs may create, for the cleanup after a kill of the hub. */
    unfinished: tableIn('installs.json', maxUnfinished),
    upkeeps: { docker: docker.upkeep, process: createFolderUpkeep(place.dataDir) },
    /** Parts of the runtimes for the containers of agents. */
    forAgents: {
      eras,
      containers: {
        handles: handlesOfAgents,
        digestOf: (spec: LaunchSpec) => digestOf(spec, dataDir.secret),
        launch: async (...request: Parameters<typeof docker.launch>) =>
          await docker.launch(...request),
        adopt: async (...request: Parameters<NonNullable<typeof docker.adopt>>) =>
          await docker.adopt?.(...request),
      },
    },
    /** Parts of the runtimes for the containers and processes that run git, and for acceptance commands. */
    forRepositories: {
      launch: (...request: Parameters<Runtime['launch']>) =>
        runtimes[request[0].target.kind].launch(...request),
      identify: async (spec: LaunchSpec) => await docker.identify?.(spec),
    },
    /** Returns the launch plan of a server. Throws HUB_LAUNCH_INVALID. */
    specOf: (wanted: ServerConfig) => specOf(wanted),
    /** Starts a server once under a temporary name, and stops it. */
    trial: (wanted: ServerConfig, events: LaunchEvents, signal: AbortSignal) =>
      tryServerLazily(wanted, starting, events, signal),
  };
}

/** Creates a runtime whose code is loaded with its first server: most hubs use only one runtime. */
function createLazyRuntime(load: () => Promise<Pick<Runtime, 'launch'>>): Pick<Runtime, 'launch'> {
  let loaded: ReturnType<typeof load> | undefined;
  return { launch: async (...about) => await (await (loaded ??= load())).launch(...about) };
}

/** Removes the network targets that can change while the container runs. */
const withFixedNetwork = (target: Target): Target =>
  target.kind === 'docker' ? { ...target, network: fixedNetwork(target.network) } : target;

/** Adds the fields that are not part of the digest of a launch: changing them does not restart a server. */
const inTime = (spec: LaunchSpec, { startTimeoutMs }: ServerConfig): LaunchSpec => ({
  ...spec,
  timeoutMs: startTimeoutMs,
});
