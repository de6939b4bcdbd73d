import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Approvals } from '#approvals';
import { type Activity, createActivity } from '#activity';
import { type FanOutNeeds, type Management, addBuiltins, createFanOutServer } from '#builtin';
import type { Naming, NextTools, ServerConfig } from '#config';
import { type Clock, type Log, type Service, systemClock } from '#core';
import type { Agents } from '#agents';
import type { DefinitionPins } from '#definitions';
import type { Audit } from '#audit';
import type { Documentation } from '#documentation';
import { type HttpNeeds, type HttpOptions, createHttp } from '#http';
import { type Jobs, createJobs } from '#jobs';
import { type Logs, createLogs } from '#logs';
import {
  type AccessSource,
  type LimitNeeds,
  type ModelAnswerer,
  type Observer,
  type PromptSource,
  type SamplingAnswerer,
  createRouter,
} from '#routing';
import { policyNameOf } from '#policy';
import { createProcessRuntime } from '#runtimes/process';
import { createRemoteRuntime } from '#runtimes/remote';
import { createTable } from '#store';
import { createMetrics, redactJson, redactText } from '#telemetry';
import {
  type Eras,
  type Server,
  type Servers,
  createEras,
  createServers,
  planLaunch,
} from '#servers';
import type { TaskPipeline } from '#tasks';
import { createTokenCounter } from '#tokens';
import { createToolSwitches } from '#tools';
import type { ToolSearch } from '#toolsearch';
import {
  type ClientConnections,
  type ConnectionsOptions,
  type StreamableOptions,
  createConnections,
  createSse,
  createStreamable,
  createWebSockets,
} from '#transports';
import { noBudget } from './budget.ts';
import { type Logged, createRecordingLog } from './recording-log.ts';

export { type Logged, createRecordingLog };

/** A fixture server, or any command, with what differs from an ordinary config. */
export type Fixture = Partial<Omit<ServerConfig, 'launch'>> & {
  readonly name: string;
  /** A file of tests/fixtures/servers; the name of the server with `.mjs` unless given. */
  readonly file?: string;
  /** What runs the file; this Node unless given. */
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Of a server that runs already, over streamable HTTP: nothing is started for it. */
  readonly url?: string;
  /** The hub takes it for this server of its own. */
  readonly own?: 'ollama-mcp';
};

export type HubOptions = {
  readonly naming?: Partial<Naming>;
  readonly http?: Partial<HttpOptions>;
  readonly streamable?: Partial<StreamableOptions>;
  readonly connections?: Partial<ConnectionsOptions>;
  /** The clock of the router, the sessions and HTTP. */
  readonly clock?: Clock;
  /** Absent: there is no way to install and remove servers. */
  readonly installs?: HttpNeeds['installs'];
  /** Absent: the hub asks no registry of servers. */
  readonly catalog?: HttpNeeds['hub']['catalog'];
  /** Absent: there is no way to change versions. */
  readonly upgrades?: HttpNeeds['hub']['upgrades'];
  /** Absent: the hub improves no prompts. */
  readonly prompts?: PromptSource;
  /** Answers for clients that cannot sample. Absent: nobody does. */
  readonly sampling?: SamplingAnswerer;
  /** Answers what `ollama-mcp` asks of models. Absent: nobody does. */
  readonly models?: ModelAnswerer;
  /** Absent: the hub runs no tasks. */
  readonly tasks?: TaskPipeline;
  /** Absent: the hub documents no repositories. */
  readonly documentation?: Documentation;
  readonly agents?: Agents;
  /** Has the routes of the audit log; no call is recorded. */
  readonly audit?: Audit;
  /** Absent: there are no management tools. */
  readonly management?: Management;
  /** What answers below `/ollama`. Absent: there is no such path. */
  readonly ollama?: NonNullable<HttpNeeds['prompts']>['open'];
  /** Absent: nobody is logged in to the dashboard, and ROUTER_TOKEN is the only token of calls. */
  readonly guard?: HttpNeeds['access'];
  /** Absent: the users of connections are not told apart. */
  readonly peers?: NonNullable<HttpNeeds['access']>['peers'];
  /** Who may use what. Absent: everybody everything. */
  readonly access?: AccessSource;
  /** Approvals of calls. Absent: there are none. */
  readonly approvals?: Approvals;
  /** The pinned definitions that people are shown. Absent: nothing is pinned. */
  readonly pins?: DefinitionPins;
  /** Writes the lists of tools of a server. Absent: there are no switches of tools. */
  readonly changeTools?: (server: string, next: NextTools) => Promise<void>;
  /** Absent: there are no fan-out tools. */
  readonly fanOut?: Pick<FanOutNeeds, 'configs' | 'changed'>;
  /** Finds tools for clients in find mode. Absent: no client is in that mode. */
  readonly search?: ToolSearch;
  /** Absent: callers have no limits. */
  readonly limits?: LimitNeeds;
  /** Hears of each request that was answered. */
  readonly observer?: Observer;
  /** False: servers are started by the test. */
  readonly start?: boolean;
};

/** A whole hub in this process, on a free port, over servers that run as processes. */
export type TestHub = AsyncDisposable & {
  /** `http://127.0.0.1:port`, without a slash at the end. */
  readonly url: string;
  /** The headers of a request that administers the hub. */
  readonly ownerHeaders: { readonly authorization: string };
  /** What a command line needs to ask this hub, as its owner. */
  readonly place: {
    readonly url: string;
    readonly token: undefined;
    readonly ownerAccess: () => Promise<{ readonly key: string; readonly dial: undefined }>;
  };
  /** A new link to log in to the dashboard. */
  loginLink(): string;
  readonly servers: Servers;
  /** The same with the hub's own servers that people are shown; it finds all of them. */
  readonly shown: Servers;
  readonly router: ReturnType<typeof createRouter>;
  readonly streamable: ReturnType<typeof createStreamable>;
  readonly connections: ClientConnections;
  readonly http: Service;
  readonly logged: readonly Logged[];
  readonly activity: Activity;
  readonly jobs: Jobs;
  server(name: string): Server;
};

/** Of every hub that a test starts in its own process. */
const ownerKey = 'owner-key-of-a-hub-that-is-run-by-tests-only';
/** The headers of a request that administers such a hub. */
export const ownerHeaders = { authorization: `Bearer ${ownerKey}` } as const;

const fixtures = join(import.meta.dirname, '../fixtures/servers');

/** The config of a fixture server: short waits, and nothing else that is not a default. */
export function configOf(fixture: Fixture): ServerConfig {
  const { file = `${fixture.name}.mjs`, args = [], env = {}, url, command, own, ...rest } = fixture;
  return {
    description: undefined,
    tags: [],
    enabled: true,
    autoStart: true,
    restart: 'permanent',
    maxRestarts: 3,
    healthCheckIntervalMs: 30_000,
    startTimeoutMs: 20_000,
    callTimeoutMs: 20_000,
    inputTimeoutMs: 90_000,
    maxLineBytes: 64 * 1024 * 1024,
    maxConcurrentCalls: 64,
    maxQueuedCalls: 1000,
    maxNotifications: 1000,
    idleStopMs: undefined,
    instance: 'shared',
    era: 'auto',
    maxInstances: 20,
    instanceIdleMs: 30 * 60_000,
    ...rest,
    launch:
      url !== undefined
        ? { kind: 'remote', transport: 'http', url, headers: {} }
        : {
            kind: 'local',
            runtime: 'process',
            image: undefined,
            package: undefined,
            ...(own !== undefined && { own }),
            command: command ?? process.execPath,
            args: [join(fixtures, file), ...args],
            env,
            workingDirectory: undefined,
            sandbox: {
              network: 'none',
              mounts: [],
              volumes: [],
              limits: {
                memoryBytes: 512 * 1024 * 1024,
                cpus: 1,
                pids: 256,
                scratchBytes: 64 * 2 ** 20,
                volumeBytes: 10 * 2 ** 30,
              },
              logs: 'bounded',
              user: undefined,
            },
          },
  };
}

/** The eras of servers, remembered as long as the test runs. */
export function createTestEras(log: Log): Eras {
  const kept = createTable({ file: undefined, maxEntries: 100 }, { log });
  return createEras({ kept, secret: Buffer.alloc(32), log });
}

/** Servers over fixtures, without the rooms above them. Disposing stops them. */
export function createFixtureServers(
  fixturesOf: readonly Fixture[],
  needs: { readonly log: Log; readonly clock?: Clock; readonly eras?: Eras; readonly logs?: Logs },
): Servers & AsyncDisposable {
  const clock = needs.clock ?? systemClock;
  const { log, logs, eras = createTestEras(log) } = needs;
  const here = createProcessRuntime(
    { environment: process.env, platform: process.platform },
    { clock: systemClock },
  );
  const elsewhere = createRemoteRuntime({}, { clock: systemClock, log, random: () => 1 });
  const servers = createServers(fixturesOf.map(configOf), {
    clock,
    log,
    // The longest jitter: tests wait no longer than they must.
    random: () => 1,
    hubVersion: '0.0.0-test',
    eras,
    ...(logs && { launches: { logs } }),
    launch: async (wanted, events, signal, instance) =>
      await (wanted.launch.kind === 'remote' ? elsewhere : here).launch(
        planLaunch(wanted, { auto: 'process', dataDir: '/nonexistent' }, instance),
        events,
        signal,
      ),
  });
  return Object.assign(servers, { [Symbol.asyncDispose]: () => servers.stopAll() });
}

/** Starts a hub over fixtures and waits until those that start with it answer or have failed. */
export async function startHub(
  fixturesOf: readonly Fixture[],
  options: HubOptions = {},
): Promise<TestHub> {
  const clock = options.clock ?? systemClock;
  const { log, logged } = createRecordingLog();
  const newId = () => randomUUID();
  const hubVersion = '0.0.0-test';
  const logsFolder = join(tmpdir(), `agenthub-logs-${newId()}`);
  const logs = createLogs(logsFolder, { clock: systemClock, redact: redactText, warn() {} });
  const servers = createFixtureServers(fixturesOf, { log, logs });
  const naming: Naming = { separator: '_', maxLength: 46, ...options.naming };
  const fanOut = options.fanOut && createFanOutServer({ ...options.fanOut, clock, log });
  const { all, shown } = addBuiltins(servers, {
    ...(fanOut && { fanOut }),
    clock,
    hubVersion,
    ...(options.prompts && { prompts: options.prompts }),
    ...(options.management && { management: options.management }),
  });
  const activity = createActivity(
    { maxCalls: 10_000, maxPayloadBytes: 2 ** 20, maxKeptBytes: 4096 },
    { redaction: { text: redactText, json: redactJson } },
  );
  const metrics = createMetrics({
    clock,
    servers: () => all.all.map(({ config }) => config.name),
  });
  const router = createRouter(
    {
      naming: () => naming,
      hubVersion,
      ...(options.sampling && { sampling: options.sampling }),
      ...(options.models && { models: options.models }),
      ...(options.approvals && { approvals: options.approvals }),
      search: options.search,
    },
    {
      servers: all,
      log,
      clock,
      newId,
      ...(options.prompts && { prompts: options.prompts }),
      ...(options.access && { access: options.access }),
      ...(options.limits && { limits: options.limits }),
      observer(call) {
        metrics.record(call, policyNameOf(call.principal));
        activity.record(call);
        options.observer?.(call);
      },
    },
  );
  fanOut?.connect(router);
  const streamable = createStreamable(
    { idleMs: 60_000, maxSessions: 100, ...options.streamable },
    { router, clock, log, newId },
  );
  const connections = createConnections(
    { maxConnections: 100, ...options.connections },
    { router, clock, log, unread: noBudget },
  );
  const clients = options.guard?.clients;
  clients?.ended(({ principal, reason }) => {
    streamable.endOf(principal, reason);
    connections.endOf(principal, reason);
  });
  clients?.regranted(principal => connections.regrant(principal));
  const maxBodyBytes = options.http?.maxBodyBytes ?? 64 * 1024 * 1024;
  const webSockets = createWebSockets(
    { maxMessageBytes: maxBodyBytes },
    { connections, clock, log, unfinished: noBudget },
  );
  const sse = createSse({ connections, newId });
  const engine = {
    backend: 'process' as const,
    probe: async () => ({ healthy: true, detail: 'none' }),
  };
  const jobs = createJobs({
    clock,
    log,
    newId,
    redaction: { text: redactText, json: redactJson },
  });
  const http = createHttp(
    {
      host: '127.0.0.1',
      port: 0,
      maxBodyBytes,
      allowedHosts: [],
      allowedOrigins: [],
      token: undefined,
      ownerKey,
      administration: 'on',
      tls: undefined,
      ...options.http,
    },
    {
      servers: shown,
      router,
      transports: {
        streamable,
        connections,
        webSockets,
        sse,
        unfinished: noBudget,
        unread: noBudget,
      },
      hub: {
        version: hubVersion,
        engine,
        config: {
          reload: async () => ({ status: 'unchanged' }),
          secrets: async () => [],
          status: () => ({ loadedAt: clock.now(), error: undefined }),
        },
        sharing: { status: { kind: 'alone' } },
        residentBytes: () => process.memoryUsage.rss(),
        ...(options.approvals && { approvals: options.approvals }),
        ...(options.pins && { pins: options.pins }),
        ...(options.tasks && { tasks: options.tasks }),
        ...(options.upgrades && { upgrades: options.upgrades }),
        ...(options.catalog && { catalog: options.catalog }),
        ...(options.documentation && { documentation: options.documentation }),
        ...(options.agents && { agents: options.agents }),
        ...(options.changeTools && {
          tools: createToolSwitches({
            servers: shown,
            shownTools: router.shownTools,
            counter: createTokenCounter({ clock: systemClock }),
            changeTools: options.changeTools,
          }),
        }),
      },
      access: { ...options.guard, ...(options.peers && { peers: options.peers }) },
      ...(options.installs && { installs: options.installs }),
      jobs,
      ...(options.ollama && { prompts: { open: options.ollama } }),
      telemetry: {
        activity,
        metrics,
        redact: redactText,
        logs,
        ...(options.audit && { audit: options.audit }),
      },
      system: { clock, log, newId },
    },
  );
  await http.start();
  if (options.start ?? true) {
    servers.startAll();
    await until(
      () =>
        servers.all.every(({ config, status }) => !config.autoStart || !isPending(status.state)),
      () => servers.all.map(({ config, status }) => `${config.name} is ${status.state}`).join(', '),
    );
  }
  return {
    url: http.address,
    ownerHeaders,
    place: {
      url: http.address,
      token: undefined,
      ownerAccess: async () => ({ key: ownerKey, dial: undefined }),
    },
    loginLink: () => http.createLoginLink(),
    servers,
    shown,
    router,
    streamable,
    connections,
    http,
    logged,
    activity,
    jobs,
    server: name => servers.get(name),
    async [Symbol.asyncDispose]() {
      const drained = Promise.all([streamable.drain(0), connections.drain(0)]);
      router.close();
      await drained;
      await servers.stopAll();
      await http.stop();
      await logs.stop();
      await rm(logsFolder, { recursive: true, force: true });
    },
  };
}

const isPending = (state: string) => state === 'starting' || state === 'stopped';

/** Waits until something is so, looking every few milliseconds; fails with what it saw after `withinMs`. */
export async function until(
  holds: () => boolean,
  saw: () => unknown = () => '',
  withinMs = 15_000,
): Promise<void> {
  const end = Date.now() + withinMs;
  while (!holds()) {
    if (Date.now() > end) assert.fail(`did not come about within ${withinMs} ms: ${String(saw())}`);
    await new Promise(resolve => setTimeout(resolve, 5));
  }
}
