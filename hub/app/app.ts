import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { addBuiltins } from '#builtin';
import { warningsOf } from '#config';
import { type Clock, type Log, type Service, startAll, systemClock } from '#core';
import { createHttp, createSocketTables } from '#http';
import { createLazyInstalls, createPins, registriesOf } from '#installs';
import { createJobs } from '#jobs';
import type { StdioStreams } from '#jsonrpc';
import { createMemorySharing, createSharedBreaker, loadRedisSharing } from '#resilience';
import { createRouter } from '#routing';
import { breakerKeyOf } from '#servers';
import { announceRunning, createJournal, openDataDir } from '#store';
import type { Redaction } from '#telemetry';
import { maxMessageBytes, openStdio } from '#transports';
import { collectGarbage, createIdleGc } from './idle-gc.ts';
import { type ConfigFiles, createConfiguration } from './wire-config.ts';
import { wireObservers } from './wire-observers.ts';
import { createPrompts, withRules } from './wire-prompts.ts';
import { type ServersOptions, wireServers } from './wire-servers.ts';
import { wireTransports } from './wire-transports.ts';

export type AppOptions = Omit<ServersOptions, 'configs'> & {
  readonly files: ConfigFiles;
  readonly log: Log;
  /** Removes secrets from everything that is displayed. */
  readonly redaction: Redaction;
  /** True if the hub listens for clients. */
  readonly listens: boolean;
  /** The client on stdin and stdout, if any. */
  readonly stdio: StdioStreams | undefined;
};

/** The running hub. */
export type App = {
  /** Undefined if the hub does not listen. */
  readonly address: string | undefined;
  /** Creates a login link for the dashboard. Undefined without administration over HTTP. */
  readonly loginLink?: (() => string) | undefined;
  readonly inContainer: boolean;
  /** Resolves when the client on stdin and stdout has disconnected. Undefined without such a client. */
  readonly clientGone?: Promise<unknown>;
  stop(): Promise<void>;
};

const probeMs = 3_000;
/** Time in ms for pending responses after the client closed stdin: clients wait two seconds. */
const stdioGraceMs = 1_000;
/** Delay in ms before the routes are loaded, unless a request needs them earlier: servers start first. */
const routesAfterMs = 1_000;
/** Maximum time in ms that a client on stdin waits for starting servers, so that its first list is complete. */
const firstListsMs = 10_000;
/** File of the jobs, in the data folder. */
const jobsFile = 'jobs.jsonl';
const maxJobsBytes = 4 * 2 ** 20;

/** Starts the hub: opens its data folder, connects to the engine, listens, and starts the servers. */
export async function startApp(options: AppOptions, signal: AbortSignal): Promise<App> {
  const { files, settings, version, log } = options;
  for (const warning of warningsOf(files.first.config)) log.warn({}, warning);
  const clock: Clock = systemClock;
  const newId = () => randomUUID();

  await using opened = new AsyncDisposableStack();
  const dataDir = opened.use(
    await openDataDir(settings.dataDir, () => randomUUID().replaceAll('-', '').slice(0, 16)),
  );
  const sharing =
    settings.redisUrl === undefined
      ? createMemorySharing(clock)()
      : (await loadRedisSharing())(
          { url: settings.redisUrl, deployment: settings.deployment },
          { clock, log: log.child({ part: 'redis' }), random: Math.random, newId },
        );
  const pins = createPins(registriesOf(options.environment), { clock, fetch });
  const { servers, docker, place, listings, backlog, ...wired } = await wireServers(
    { ...options, configs: files.first.config.servers },
    {
      dataDir,
      clock,
      log,
      redact: text => options.redaction.text(text),
      findElsewhere: async (source, signal) => await pins.findElsewhere(source, signal),
      breakerOf: config =>
        createSharedBreaker(breakerKeyOf(config), settings.breaker, { clock, sharing }),
    },
  );
  const prompts = await createPrompts(
    { settings, dataFolder: dataDir.path },
    { clock, log, random: Math.random, newId, readText: files.shipped?.readText },
  );
  const configuration = createConfiguration(files, { servers, settings, clock, log });
  const { source, control, editing } = configuration;
  const { all, shown } = addBuiltins(servers, {
    clock,
    hubVersion: version,
    prompts: prompts.source,
    management: {
      isOn: () => source.current.managementTools === true,
      changed: source.changed,
    },
  });
  const { activity, metrics, telemetry, observe } = await wireObservers(
    { otlp: settings.otlp, version },
    {
      servers: () => all.all.map(({ config }) => config.name),
      measure: () => http.measure(),
      redaction: options.redaction,
      clock,
      log,
    },
  );
  const router = createRouter(() => source.current.naming, {
    servers: all,
    log,
    clock,
    hubVersion: version,
    newId,
    prompts: prompts.source,
    observer: observe,
    ...(telemetry?.tracer && { tracer: telemetry.tracer }),
  });
  const jobs = createJobs({
    clock,
    log,
    newId,
    redaction: options.redaction,
    openJournal: snapshot =>
      createJournal(
        { file: join(dataDir.path, jobsFile), maxBytes: maxJobsBytes, snapshot },
        { log, backlog },
      ),
  });
  const installs = createLazyInstalls({
    log,
    pins,
    ...editing,
    ...wired,
    servers,
    keepListing: (config, listing) =>
      listings.keep(config.name, wired.specOf(config).digest ?? '', listing),
    forgetListing: name => listings.forget(name),
  });
  const begun = Promise.withResolvers<void>();
  const transports = await wireTransports(options, {
    settings,
    dataDir,
    backlog,
    router,
    servers,
    source,
    place,
    exposure: docker.exposure,
    listed: begun.promise.then(() => servers.settled(firstListsMs, signal)).catch(() => undefined), // The start was cancelled, so nothing waits any more.
    clock,
    log,
    newId,
  });
  const { connections, callToken } = transports;
  const http = createHttp(
    {
      host: settings.host,
      networks: settings.networks,
      port: settings.port,
      tls: settings.tls,
      token: settings.token,
      ownerKey: dataDir.ownerKey,
      administration: settings.administration,
      allowedHosts: settings.allowedHosts,
      allowedOrigins: settings.allowedOrigins,
      maxBodyBytes: maxMessageBytes,
      maxConnections: settings.limits.maxConnections,
    },
    {
      servers: shown,
      router,
      transports,
      hub: {
        version,
        engine: {
          backend: place.auto,
          probe: () => docker.probe(AbortSignal.timeout(probeMs)),
        },
        config: withRules(control, prompts.rules),
        sharing,
        residentBytes: () => process.memoryUsage.rss(),
      },
      access: {
        ...(callToken && { callToken: () => callToken.current() }),
        // With the token every user may call.
        ...(settings.token === undefined && usersOfPeers()),
      },
      installs,
      jobs,
      prompts,
      telemetry: { activity, metrics, redact: text => options.redaction.text(text) },
      system: { clock, log, newId },
    },
  );
  const running: Service = {
    name: 'servers',
    async start() {
      servers.startAll();
      begun.resolve();
    },
    stop: () => servers.stopAll(),
  };
  let soon: Disposable | undefined;
  const routes: Service = {
    name: 'routes',
    async start() {
      soon = clock.after(routesAfterMs, () => void http.load());
    },
    stop: async () => soon?.[Symbol.dispose](),
  };
  const announcement: Service = {
    name: 'announcement',
    start: () => announceRunning(dataDir.path, { url: http.url, sockets: http.sockets }),
    stop: async () => {},
  };
  const meeting: Service = {
    name: 'redis',
    start: () => sharing.start(),
    stop: () => sharing.stop(),
  };
  opened.use(
    await startAll(
      [
        ...(telemetry ? [telemetry] : []),
        jobs,
        transports.saved,
        meeting,
        docker,
        ...(options.listens ? [http, announcement, routes] : []),
        running,
        source,
        prompts,
        transports.sessions,
        installs,
        createIdleGc({
          servers,
          lastCall: () => activity.lastId,
          collect: collectGarbage,
          clock,
          log,
        }),
      ],
      signal,
    ),
  );
  // Some clients list tools only once, so the first request waits for the servers.
  if (options.stdio) await servers.settled(firstListsMs, signal);
  const client =
    options.stdio &&
    openStdio(
      options.stdio,
      'all',
      { maxMessageBytes, graceMs: stdioGraceMs },
      { connections, clock },
    );
  const started = opened.move();
  const address = options.listens ? http.url : undefined;
  const isAdministered = options.listens && settings.administration === 'on';
  log.info(
    { address, data: settings.dataDir },
    client ? 'AgentHub serves stdin' : 'AgentHub listens',
  );
  return {
    address,
    ...(isAdministered && { loginLink: () => http.createLoginLink() }),
    inContainer: settings.inContainer,
    ...(client && { clientGone: client.over }),
    async stop() {
      await started.disposeAsync();
      await client?.over;
    },
  };
}

/** Identifies the users of connections. Only possible on Linux. */
const usersOfPeers = () =>
  process.platform === 'linux' && process.getuid
    ? { peers: { tables: createSocketTables(), uid: process.getuid() } }
    : {};
