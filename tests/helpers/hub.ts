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
import { eraServer } from './era-servers.ts';
import { type Logged, createRecordingLog } from './recording-log.ts';

export { type Logged, createRecordingLog };

/** A fixture server, or any other command, with the fields of its config that are not the default of tests. */
export type Fixture = Partial<Omit<ServerConfig, 'launch'>> & {
  readonly name: string;
  /** File of the server in tests/fixtures/servers. Default: the name of the server with `.mjs`. */
  readonly file?: string;
  /** Program that runs the file. Default: this Node. */
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** URL of a server that already runs, over streamable HTTP. The hub starts no process for it. */
  readonly url?: string;
  /** Marks the server as one of the hub's own programs. */
  readonly own?: 'ollama-mcp';
};

export type HubOptions = {
  readonly naming?: Partial<Naming>;
  readonly http?: Partial<HttpOptions>;
  readonly streamable?: Partial<StreamableOptions>;
  readonly connections?: Partial<ConnectionsOptions>;
  /** Clock of the router, the sessions and HTTP. */
  readonly clock?: Clock;
  /** Installs and removes servers. Absent: the hub cannot. */
  readonly installs?: HttpNeeds['installs'];
  /** Registry of MCP servers. Absent: the hub queries none. */
  readonly catalog?: HttpNeeds['hub']['catalog'];
  /** Changes versions of servers. Absent: the hub cannot. */
  readonly upgrades?: HttpNeeds['hub']['upgrades'];
  /** Improves prompts. Absent: the hub improves none. */
  readonly prompts?: PromptSource;
  /** Answers sampling requests for clients that cannot sample. Absent: such requests are refused. */
  readonly sampling?: SamplingAnswerer;
  /** Answers requests of `ollama-mcp` to models. Absent: such requests are refused. */
  readonly models?: ModelAnswerer;
  /** Runs tasks. Absent: the hub runs none. */
  readonly tasks?: TaskPipeline;
  /** Documents repositories. Absent: the hub documents none. */
  readonly documentation?: Documentation;
  readonly agents?: Agents;
  /** Adds the routes of the audit log. Calls are not recorded. */
  readonly audit?: Audit;
  /** Management tools. Absent: the hub has none. */
  readonly management?: Management;
  /** Handles the paths below `/ollama`. Absent: the hub does not have these paths. */
  readonly ollama?: NonNullable<HttpNeeds['prompts']>['open'];
  /** Logins and clients with tokens. Absent: the dashboard has no login, and calls only the token ROUTER_TOKEN. */
  readonly guard?: HttpNeeds['access'];
  /** Finds the system user who opened a connection. Absent: the hub does not check users. */
  readonly peers?: NonNullable<HttpNeeds['access']>['peers'];
  /** Rules of who may use what. Absent: everyone may use everything. */
  readonly access?: AccessSource;
  /** Approvals of calls. Absent: calls need none. */
  readonly approvals?: Approvals;
  /** Pinned definitions of tools. Absent: the hub pins none. */
  readonly pins?: DefinitionPins;
  /** Writes the lists of enabled tools of a server. Absent: tools have no switches. */
  readonly changeTools?: (server: string, next: NextTools) => Promise<void>;
  /** Fan-out tools. Absent: the hub has none. */
  readonly fanOut?: Pick<FanOutNeeds, 'configs' | 'hidesTools' | 'changed'>;
  /** Finds tools for clients in find mode. Absent: no client is in find mode. */
  readonly search?: ToolSearch;
  /** Limits of callers. Absent: callers have none. */
  readonly limits?: LimitNeeds;
  /** Called with each request that was answered. */
  readonly observer?: Observer;
  /** Whether to start the servers with the hub. False: the test starts them. Default: true. */
  readonly start?: boolean;
};

/** A complete hub in this process, on a free port, with servers that run as child processes. */
export type TestHub = AsyncDisposable & {
  /** `http://127.0.0.1:port`, without a trailing slash. */
  readonly url: string;
  /** Headers of a request that administers the hub. */
  readonly ownerHeaders: { readonly authorization: string };
  /** Address and credentials with which commands reach this hub as its owner. */
  readonly place: {
    readonly url: string;
    readonly token: undefined;
    readonly ownerAccess: () => Promise<{ readonly key: string; readonly dial: undefined }>;
  };
  /** Creates a link to log in to the dashboard. */
  loginLink(): string;
  readonly servers: Servers;
  /** `servers` and the builtin servers that users are shown. Hidden builtin servers are found by name only. */
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

/** Owner key of every hub that a test starts in its own process. */
const ownerKey = 'owner-key-of-a-hub-that-is-run-by-tests-only';
/** Headers of a request that administers a hub of this process. */
export const ownerHeaders = { authorization: `Bearer ${ownerKey}` } as const;

const fixtures = join(import.meta.dirname, '../fixtures/servers');

/** Returns the config of a fixture server, with shorter timeouts than the defaults of the hub. */
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
            args: [file.startsWith('../eras/') ? eraServer(file) : join(fixtures, file), ...args],
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

/** Creates a store of the MCP revisions of servers, in memory. */
export function createTestEras(log: Log): Eras {
  const kept = createTable({ file: undefined, maxEntries: 100 }, { log });
  return createEras({ kept, secret: Buffer.alloc(32), log });
}

/** Creates fixture servers without a router or transports. Disposing stops them. */
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
    // Maximum jitter, which makes the delays before restarts shortest.
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

/** Starts a hub over fixture servers. Resolves when each server that starts with the hub is ready or has failed. */
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

/** Polls every 5 ms until `holds` returns true. Fails after `withinMs`, with what `saw` returns in the message. */
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
