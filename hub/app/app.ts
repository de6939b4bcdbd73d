import { randomUUID } from 'node:crypto';
import { createAuthorization } from '#access';
import type { Audit } from '#audit';
import { type Service, startAll, systemClock } from '#core';
import { createHttp } from '#http';
import { createSharedBreaker } from '#resilience';
import { createAccessSource, createRouter } from '#routing';
import { breakerKeyOf } from '#servers';
import { createBacklog, openDataDir } from '#store';
import { createTokenCounter } from '#tokens';
import { createToolSwitches } from '#tools';
import { maxMessageBytes } from '#jsonrpc';
import { openStdio } from '#transports';
import { collectGarbage, createIdleGc } from './idle-gc.ts';
import { aboutHub, usersOfPeers } from './about-hub.ts';
import type { AppOptions } from './app-options.ts';
import { listeningServices } from './listening.ts';
import { wireApprovals } from './wire-approvals.ts';
import { wireAudit } from './wire-audit.ts';
import { wireCatalog } from './wire-catalog.ts';
import { countCalls, findStdioClient, newHubId, wireClients } from './wire-clients.ts';
import { createConfiguration, warnOf } from './wire-config.ts';
import { openDefinitions, wireDefinitions } from './wire-definitions.ts';
import { wireFind } from './wire-find.ts';
import { wireInstalls } from './wire-installs.ts';
import { wireLogins } from './wire-logins.ts';
import { wireLogs } from './wire-logs.ts';
import { wireLimits } from './wire-limits.ts';
import { createModelAccess } from './wire-models.ts';
import { wireObservers } from './wire-observers.ts';
import { wireOwnServers } from './wire-own-servers.ts';
import { createPrompts, withRules } from './wire-prompts.ts';
import { wireServers } from './wire-servers.ts';
import { openSharing } from './wire-sharing.ts';
import { wireTransports } from './wire-transports.ts';

const probeMs = 3_000;
/** Maximum time in ms that a client on stdin waits for starting servers, so that its first list is complete. */
const firstListsMs = 10_000;
/** `graceMs`: time for pending answers after the client closed stdin. Clients wait two seconds. */
const stdioOptions = { maxMessageBytes, graceMs: 1_000 };

/** Starts the hub: opens its data folder, connects to the engine, listens, and starts the servers. */
export async function startApp(options: AppOptions, signal: AbortSignal) {
  const { files, settings, version, log, redaction, listens } = options;
  const { config } = files.first;
  await warnOf(config, options);
  const clock = systemClock;
  const newId = () => randomUUID();
  const system = { clock, log, newId, random: Math.random };
  const redact = (text: string) => redaction.text(text);

  await using opened = new AsyncDisposableStack();
  const dataDir = opened.use(await openDataDir(settings.dataDir, newHubId));
  const logs = await wireLogs(dataDir.path, { ...system, redact, logged: options.logged, config });
  await options.noteHub?.(dataDir.hubId);
  const sharing = await openSharing(settings, system);
  /** Files that could not be written. `/health` lists them, and they are written again later. */
  const backlog = createBacklog();
  const definitions = await openDefinitions(files.file, () => late.audit, { ...system, backlog });
  const late: { audit?: Audit } = {};
  const { logins, watch } = wireLogins({
    ...system,
    openSecrets: options.openSecrets,
    servers: () => servers,
    audit: () => audit,
    hub: () => (listens ? { host: settings.host, url: http.url } : undefined),
  });
  const { servers, docker, listings, ...wired } = await wireServers(config.servers, options, {
    ...system,
    dataDir,
    redact,
    logs,
    definitions,
    backlog,
    tokensOf: name => logins.tokensOf(name),
    hubUrl: () => (listens ? http.url : undefined),
    breakerOf: server =>
      createSharedBreaker(breakerKeyOf(server), settings.breaker, { clock, sharing }),
  });
  watch();
  options.watchServers?.(servers);
  const models = createModelAccess(settings, {
    ...system,
    config: () => source.current,
    rules: () => prompts.rules.current,
  });
  const prompts = await createPrompts(
    { settings, dataFolder: dataDir.path, usualRulesFile: files.usualRulesFile },
    { ...system, models, readText: files.shipped?.readText },
  );
  const applying = { ...system, servers, settings };
  const { source, control, configFile, service } = createConfiguration(files, applying);
  const { audit, auditor } = wireAudit(dataDir.path, {
    ...system,
    source,
    redaction,
    hubVersion: version,
  });
  late.audit = audit;
  const pinning = wireDefinitions(definitions, { ...system, servers, configFile, redact });
  const clients = await wireClients({ ...system, settings, dataDir, source });
  const stdioClient =
    options.stdio && findStdioClient(options.environment['AGENTHUB_CLIENT'], clients);
  const { agents, documentation, tasks, jobs, all, shown, ...own } = wireOwnServers(
    { settings, version, imagesDir: options.imagesDir, dataDir },
    {
      system,
      redaction,
      servers,
      wired,
      backlog,
      router: { openSessionless: (...session) => router.openSessionless(...session) },
      source,
      models,
      prompts,
      audit,
    },
  );
  const { activity, calls, lastSession, metrics, telemetry, observe } = await wireObservers(
    { ...settings, version, dataFolder: dataDir.path },
    {
      ...system,
      source,
      servers: () => all.all.map(server => server.config.name),
      families: () => http.measure(),
      count: countCalls(clients),
      redaction,
    },
  );
  const approvals = wireApprovals(dataDir.path, { ...system, source, backlog, redaction, audit });
  const access = createAccessSource(source, id => agents.get(id).settings.grants);
  const limits = await wireLimits(settings, { ...system, source });
  const finding = wireFind(settings, dataDir.path, { ...system, models, prompts });
  const router = createRouter(
    {
      naming: () => source.current.naming,
      hubVersion: version,
      hubId: dataDir.hubId,
      sampling: models.sampling,
      models: models.runs,
      approvals,
      search: finding.search,
      lastSession,
    },
    {
      ...system,
      servers: all,
      access,
      prompts: prompts.source,
      limits: limits.forCalls,
      observer: observe,
      audit: auditor,
      ...(telemetry?.tracer && { tracer: telemetry.tracer }),
    },
  );
  own.fanOut.connect(router);
  if (options.profile !== undefined) router.profiles.require(options.profile);
  const { pins } = pinning;
  const changing = { ...system, dataDir, configFile, servers, listings, logins, pinning: pins };
  const { installs, upgrades } = wireInstalls(wired, changing, docker.pruning);
  const catalog = wireCatalog({ ...system, ...options, dataDir, backlog, source });
  const begun = Promise.withResolvers<void>();
  const transports = await wireTransports(options, {
    system,
    settings,
    dataDir,
    clients,
    router,
    servers,
    source,
    place: wired.place,
    exposure: docker.exposure,
    saving: {
      backlog,
      listed: begun.promise
        .then(() => servers.settled(firstListsMs, signal))
        .catch(() => undefined), // The start was cancelled: no session waits for the lists.
    },
  });
  const { callToken } = transports;
  const probe = () => docker.probe(AbortSignal.timeout(probeMs));
  const http = createHttp(
    {
      ...settings,
      ownerKey: dataDir.ownerKey,
      maxBodyBytes: maxMessageBytes,
      maxConnections: settings.limits.maxConnections,
    },
    {
      servers: shown,
      router,
      transports,
      hub: {
        version,
        engine: { backend: wired.place.auto, probe },
        config: withRules(control, prompts.rules),
        sharing,
        limits: limits.status,
        countRequest: limits.forRequests,
        approvals,
        pins,
        logins,
        agents,
        documentation,
        tasks,
        tools: createToolSwitches({
          servers: shown,
          shownTools: router.shownTools,
          counter: createTokenCounter({ clock }),
          changeTools: configFile.changeTools,
        }),
        upgrades,
        catalog,
        residentBytes: () => process.memoryUsage.rss(),
      },
      access: {
        clients,
        authorization: createAuthorization(dataDir, {
          ...system,
          clients,
          audit: line => audit.recordChange({ principal: undefined, ...line, outcome: 'ok' }),
        }),
        ...(callToken && { callToken: callToken.current }),
        // If ROUTER_TOKEN is set, the token decides, and users of any process may call.
        ...(settings.token === undefined && usersOfPeers()),
      },
      installs,
      jobs,
      prompts,
      telemetry: { activity, metrics, redact, audit, logs },
      system,
    },
  );
  const noWork = async () => {};
  const lastCall = () => activity.lastId;
  const services: readonly Service[] = [
    logs,
    audit,
    calls,
    ...(telemetry ? [telemetry] : []),
    approvals,
    jobs,
    transports.saved,
    { start: () => sharing.start(), stop: () => sharing.stop() },
    limits.service,
    docker,
    ...(listens ? listeningServices(http, dataDir.path, { clock, log }) : []),
    {
      async start() {
        servers.startAll();
        begun.resolve();
      },
      stop: () => servers.stopAll(),
    },
    service,
    pinning.service,
    models,
    finding.service,
    prompts,
    { start: noWork, stop: () => transports.drain() },
    installs,
    upgrades,
    ...own.services,
    createIdleGc({ servers, lastCall, collect: collectGarbage, clock, log }),
  ];
  opened.use(await startAll(services, signal));
  // Some clients list tools only once, so the first request waits for the servers.
  if (options.stdio) await servers.settled(firstListsMs, signal);
  const client =
    options.stdio &&
    openStdio(options.stdio, 'all', stdioOptions, {
      connections: transports.connections,
      clock,
      principal: stdioClient,
      profile: options.profile,
    });
  const started = opened.move();
  const address = listens ? http.url : undefined;
  log.info(
    { address, data: settings.dataDir },
    client ? 'AgentHub serves stdin' : 'AgentHub listens',
  );
  return {
    /** Address of the hub; undefined if it does not listen. */
    address,
    /** Creates a login link for the dashboard. Undefined without administration over HTTP. */
    loginLink:
      listens && settings.administration === 'on' ? () => http.createLoginLink() : undefined,
    inContainer: settings.inContainer,
    about: await aboutHub(files, wired.place),
    /** Resolves when the client on stdin and stdout has disconnected. Absent without such a client. */
    ...(client && { clientGone: client.over }),
    async stop(): Promise<void> {
      await started.disposeAsync();
      await client?.over;
    },
  };
}
