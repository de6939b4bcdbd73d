import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Config, type Settings, warningsOf } from '#config';
import { type Clock, type Log, type Part, startAll, systemClock } from '#core';
import { type Engine, createHttp } from '#http';
import { createRouter } from '#routing';
import type { LaunchEvents, LaunchSpec, Runtime } from '#runtimes';
import { createDockerRuntime } from '#runtimes/docker';
import { createProcessRuntime } from '#runtimes/process';
import { createRemoteRuntime } from '#runtimes/remote';
import {
  type Placement,
  createEras,
  createServers,
  maxEras,
  planLaunch,
  serverFolder,
} from '#servers';
import { createTable, openDataDir } from '#store';
import {
  type StdioStreams,
  createConnections,
  createSse,
  createStreamable,
  createWebSockets,
  maxMessageBytes,
  openStdio,
} from '#transports';

export type AppOptions = {
  readonly config: Config;
  readonly settings: Settings;
  readonly version: string;
  /** The folder of the image contexts. */
  readonly imagesDir: string;
  /** What child processes may inherit from, and no more than a few names of it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  /** Whether the hub listens for clients. */
  readonly listens: boolean;
  /** The client on stdin and stdout, where one is served there. */
  readonly stdio: StdioStreams | undefined;
};

/** The running hub. */
export type App = {
  /** Undefined where it does not listen. */
  readonly address: string | undefined;
  /** Resolves when the client on stdin and stdout is gone; undefined where none is served there. */
  readonly clientGone?: Promise<unknown>;
  stop(): Promise<void>;
};

/** How long calls in flight have to end when the hub stops. */
const drainMs = 5_000;
/** Where a network has a certificate authority of its own, npx and uvx must know it. No secrets. */
const trustSettings = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'];
const idleMs = 30 * 60_000;
const maxSessions = 10_000;
const maxConnections = 1_000;
/** How long the client on stdin and stdout is answered after it wrote its last: it waits two seconds itself. */
const stdioGraceMs = 1_000;
/** How long a client on stdin waits for servers that start, so that its first list is whole. */
const firstListsMs = 10_000;
const probeMs = 3_000;
/** Which era the servers speak, in the data folder. */
const erasFile = 'eras.json';

/** Starts the hub: opens its data, finds the engine, listens, and starts its servers. */
export async function startApp(options: AppOptions, signal: AbortSignal): Promise<App> {
  const { config, settings, version, log } = options;
  for (const warning of warningsOf(config)) log.warn({}, warning);
  const clock: Clock = systemClock;
  const newId = () => randomUUID();

  await using opened = new AsyncDisposableStack();
  const dataDir = opened.use(
    await openDataDir(settings.dataDir, () => randomUUID().replaceAll('-', '').slice(0, 16)),
  );
  const docker = createDockerRuntime(
    {
      hubId: settings.hubId ?? dataDir.hubId,
      hubName: settings.hubName,
      dockerHost: settings.dockerHost,
      imagesDir: options.imagesDir,
    },
    { clock, log },
  );
  const runtimes: Readonly<Record<Runtime['kind'], Pick<Runtime, 'launch'>>> = {
    docker,
    process: createProcessRuntime(
      {
        environment: options.environment,
        alsoInherited: trustSettings,
        platform: process.platform,
      },
      { clock },
    ),
    remote: createRemoteRuntime({}, { clock, log, random: Math.random }),
  };

  const place = await findPlace(docker, options);
  const launch = async (spec: LaunchSpec, events: LaunchEvents, aborting: AbortSignal) => {
    // A process keeps what it writes in a folder of its own; a container has volumes for that.
    if (spec.target.kind === 'process')
      await mkdir(serverFolder(place.dataDir, spec.server), { recursive: true, mode: 0o700 });
    return await runtimes[spec.target.kind].launch(spec, events, aborting);
  };
  const eras = createEras({
    kept: createTable({ file: join(dataDir.path, erasFile), maxEntries: maxEras }, { log }),
    log,
  });
  const servers = createServers(config.servers, {
    clock,
    log,
    random: Math.random,
    hubVersion: version,
    eras,
    launch: async (wanted, events, aborting, instance) =>
      await launch(planLaunch(wanted, place, instance), events, aborting),
  });
  const router = createRouter(config.naming, { servers, log, clock, hubVersion: version, newId });
  const streamable = createStreamable({ idleMs, maxSessions }, { router, clock, log, newId });
  const connections = createConnections({ maxConnections }, { router, clock, log });
  const engine: Engine = {
    backend: place.auto,
    probe: async () =>
      place.auto === 'docker'
        ? await docker.probe(AbortSignal.timeout(probeMs))
        : { healthy: true, detail: 'no engine: servers are not isolated' },
  };
  const http = createHttp(
    {
      host: settings.host,
      port: settings.port,
      tls: settings.tls,
      token: settings.token,
      allowedHosts: settings.allowedHosts,
      allowedOrigins: settings.allowedOrigins,
      maxBodyBytes: maxMessageBytes,
    },
    {
      servers,
      router,
      streamable,
      connections,
      webSockets: createWebSockets({ maxMessageBytes }, { connections, clock, log }),
      sse: createSse({ connections, newId }),
      engine,
      hubVersion: version,
      clock,
      log,
      newId,
    },
  );
  const fleet: Part = {
    name: 'servers',
    start: async () => servers.startAll(),
    stop: () => servers.stopAll(),
  };
  const sessions: Part = {
    name: 'sessions',
    start: async () => {},
    async stop() {
      const drained = Promise.all([streamable.drain(drainMs), connections.drain(drainMs)]);
      router.close();
      await drained;
    },
  };
  const ends = options.listens ? [http] : [];
  opened.use(await startAll([docker, ...ends, fleet, sessions], signal));
  // Some clients list once and never again: they are not read before there is something to list.
  if (options.stdio) await servers.settled(firstListsMs, signal);
  const client =
    options.stdio &&
    openStdio(
      options.stdio,
      'all',
      { maxMessageBytes, graceMs: stdioGraceMs },
      { connections, clock, log },
    );
  const running = opened.move();
  const address = options.listens ? http.address : undefined;
  log.info(
    { address, data: settings.dataDir },
    client ? 'AgentHub serves stdin' : 'AgentHub listens',
  );
  return {
    address,
    ...(client && { clientGone: client.over }),
    async stop() {
      await running.disposeAsync();
      await client?.over;
    },
  };
}

/** Where `runtime: auto` puts servers. It is decided once: an engine that goes away later is waited for. */
async function findPlace(
  docker: Pick<Runtime, 'probe'>,
  options: Pick<AppOptions, 'settings' | 'log'>,
): Promise<Placement> {
  const { settings, log } = options;
  const dataDir = resolve(settings.dataDir);
  const { healthy, detail } = await docker.probe(AbortSignal.timeout(probeMs));
  if (healthy || settings.inContainer) {
    log.info({ engine: detail }, 'servers run in containers');
    return { auto: 'docker', dataDir };
  }
  log.warn(
    { engine: detail },
    'NO DOCKER ENGINE ANSWERS: servers run as processes of this machine, with your rights and without a sandbox',
  );
  return { auto: 'process', dataDir };
}
