import { randomFillSync, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { createActivity } from '#activity';
import { addBuiltins } from '#builtin';
import { type RulesSource, warningsOf } from '#config';
import { type Clock, type Log, type Service, startAll, systemClock } from '#core';
import { type ConfigControl, type Engine, createHttp, createSocketTables } from '#http';
import { createLazyInstalls, createPins, registriesOf } from '#installs';
import { createJobs } from '#jobs';
import type { StdioStreams } from '#jsonrpc';
import { createMemorySharing, createSharedBreaker, loadRedisSharing } from '#resilience';
import { createRouter } from '#routing';
import { breakerKeyOf } from '#servers';
import { announceRunning, createJournal, openDataDir } from '#store';
import {
  type OtlpExporter,
  type OtlpNeeds,
  type OtlpOptions,
  type Redaction,
  createMetrics,
  loadOtlpExporter,
} from '#telemetry';
import {
  createByteBudget,
  createConnections,
  createSavedSessions,
  createSessionIds,
  createSse,
  createStreamable,
  createWebSockets,
  maxMessageBytes,
  openStdio,
} from '#transports';
import { createCallToken } from './call-token.ts';
import { collectGarbage, createRelief, createSettling } from './idle-gc.ts';
import { type ConfigFiles, createConfiguration } from './wire-config.ts';
import { createPrompts } from './wire-prompts.ts';
import { type FleetOptions, createFleet } from './wire-servers.ts';

export type AppOptions = Omit<FleetOptions, 'configs'> & {
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

/** Grace period in ms for calls in flight when the hub stops. */
const drainMs = 5_000;
const probeMs = 3_000;
const idleMs = 30 * 60_000;
const maxSessions = 10_000;
/** Maximum number of WebSockets and SSE streams. */
const maxStreams = 1_000;
/** Number of recorded calls, and the size of their payloads in bytes. */
const activityBounds = {
  maxCalls: 10_000,
  maxPayloadBytes: 8 * 2 ** 20,
  maxKeptBytes: 4 * 2 ** 10,
} as const;
/** Time in ms for pending responses after the client closed stdin: clients wait two seconds. */
const stdioGraceMs = 1_000;
/** Delay in ms before the routes are loaded, unless a request needs them earlier: servers start first. */
const routesAfterMs = 1_000;
/** Maximum time in ms that a client on stdin waits for starting servers, so that its first list is complete. */
const firstListsMs = 10_000;
/** File of the jobs, in the data folder. */
const jobsFile = 'jobs.jsonl';
const maxJobsBytes = 4 * 2 ** 20;
/** File of the resumable sessions, in the data folder. */
const sessionsFile = 'sessions.jsonl';
const maxSessionsBytes = 8 * 2 ** 20;

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
  const { servers, docker, place, listings, backlog, ...fleet } = await createFleet(
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
  const activity = createActivity(activityBounds, options);
  const metrics = createMetrics({
    clock,
    servers: () => all.all.map(({ config }) => config.name),
  });
  const telemetry =
    settings.otlp && (await openTelemetry(options, settings.otlp, () => http.measure()));
  const router = createRouter(() => source.current.naming, {
    servers: all,
    log,
    clock,
    hubVersion: version,
    newId,
    prompts: prompts.source,
    observer(call) {
      metrics.record(call);
      activity.record(call);
      telemetry?.record(call);
    },
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
    ...fleet,
    servers,
    keepListing: (config, listing) =>
      listings.keep(config.name, fleet.specOf(config).digest ?? '', listing),
    forgetListing: name => listings.forget(name),
  });
  const { maxConnections, maxSessionsPerClient, ...limits } = settings.limits;
  const relieved = createRelief({ collect: collectGarbage, clock, log });
  const budget = (what: string, maxBytes: number) =>
    createByteBudget({ what, maxBytes }, { clock, log, relieved });
  const unfinished = budget('requests that are not complete', limits.maxUnfinishedBytes);
  const unread = budget('answers that are not read', limits.maxUnreadBytes);
  const begun = Promise.withResolvers<void>();
  const savedSessions = createSavedSessions(
    { idleMs, maxSessions },
    {
      clock,
      ids: createSessionIds({
        secret: dataDir.secret,
        hubId: dataDir.hubId,
        credentialOf: ({ name }) =>
          name === 'owner'
            ? dataDir.ownerKey
            : name === 'token'
              ? (settings.token ?? callToken?.current()?.token)
              : undefined,
      }),
      listed: begun.promise
        .then(() => servers.settled(firstListsMs, signal))
        .catch(() => undefined), // The start was cancelled, so nothing waits any more.
      openJournal: snapshot =>
        createJournal(
          { file: join(dataDir.path, sessionsFile), maxBytes: maxSessionsBytes, snapshot },
          { log, backlog },
        ),
    },
  );
  const streamable = createStreamable(
    { idleMs, maxSessions, maxSessionsPerClient },
    { router, clock, log, newId, saved: savedSessions },
  );
  const connections = createConnections(
    { maxConnections: maxStreams },
    { router, clock, log, unread },
  );
  servers.removed(server => {
    for (const clients of [streamable, connections]) clients.end(server, 'its server was removed');
  });
  const callToken =
    settings.token === undefined && options.listens
      ? createCallToken({
          dataFolder: dataDir.path,
          exposure: docker.exposure,
          auto: place.auto,
          configs: () => source.current.servers,
          log,
          endOpen(reason) {
            for (const view of ['all', ...servers.all] as const)
              for (const clients of [streamable, connections]) clients.end(view, reason);
          },
        })
      : undefined;
  await callToken?.look();
  source.changed(() => void callToken?.look());
  const engine: Engine = {
    backend: place.auto,
    probe: () => docker.probe(AbortSignal.timeout(probeMs)),
  };
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
      maxConnections,
    },
    {
      servers: shown,
      router,
      streamable,
      connections,
      webSockets: createWebSockets({ maxMessageBytes }, { connections, clock, log, unfinished }),
      unfinished,
      unread,
      sse: createSse({ connections, newId }),
      engine,
      config: withRules(control, prompts.rules),
      sharing,
      installs,
      jobs,
      prompts: () => prompts.open(),
      promptHealth: prompts.health,
      ...(callToken && { guard: { callToken: () => callToken.current() } }),
      // With the token every user may call.
      ...(settings.token === undefined && usersOfPeers()),
      activity,
      metrics,
      residentBytes: () => process.memoryUsage.rss(),
      redact: text => options.redaction.text(text),
      hubVersion: version,
      clock,
      log,
      newId,
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
  const sessions: Service = {
    name: 'sessions',
    start: async () => {},
    async stop() {
      const drained = Promise.all([streamable.drain(drainMs), connections.drain(drainMs)]);
      router.close();
      await drained;
    },
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
        savedSessions,
        meeting,
        docker,
        ...(options.listens ? [http, announcement, routes] : []),
        running,
        source,
        prompts,
        sessions,
        installs,
        createSettling({
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
      { connections, clock, log },
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

/** Creates the exporter of traces and metrics, if an endpoint is configured. */
async function openTelemetry(
  { version, log, redaction }: AppOptions,
  otlp: OtlpOptions,
  families: OtlpNeeds['families'],
): Promise<OtlpExporter> {
  const createOtlpExporter = await loadOtlpExporter();
  return await createOtlpExporter(
    { ...otlp, resource: { 'service.version': version, ...otlp.resource } },
    {
      clock: systemClock,
      log: log.child({ part: 'telemetry' }),
      fill: bytes => void randomFillSync(bytes),
      families,
      redaction,
      version,
    },
  );
}

/** Also reloads the prompt rules, before the config: if they are invalid, nothing is changed. */
const withRules = (control: ConfigControl, rules: RulesSource): ConfigControl => ({
  ...control,
  async reload(allow) {
    const refused = await rules.reload();
    if (refused) throw refused;
    return await control.reload(allow);
  },
});
