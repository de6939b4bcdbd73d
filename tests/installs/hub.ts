import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ServerConfig, loadConfig } from '#config';
import { type JsonObject, systemClock } from '#core';
import { createRecordingLog, createTestEras } from '#helpers/hub';
import {
  type InstallProgress,
  type InstallRequest,
  type InstallsNeeds,
  createFolderUpkeep,
  createLazyInstalls as createInstalls,
  createPins,
  registriesOf,
  tryServerLazily as tryServer,
} from '#installs';
import type { LaunchSpec, Runtime, Upkeep } from '#runtimes';
import { createProcessRuntime } from '#runtimes/process';
import { createRemoteRuntime } from '#runtimes/remote';
import { type Server, createServer, planLaunch } from '#servers';

const fixtures = join(import.meta.dirname, '../fixtures/servers');

/**
 * Program that stands for npx, without a registry: it runs the fixture with the package's name, and installs nothing.
 * The package `absent` fails as in npm.
 */
const npx = `#!${process.execPath}
const { spawn } = require('node:child_process');
const [, , , spec, ...args] = process.argv;
const name = spec.replace(/@[^@]*$/, '');
if (name === 'absent') {
  console.error("npm error code E404\\nnpm error 404 Not Found - GET https://registry.example/absent");
  process.exit(1);
}
if (name === 'wants-a-key') {
  console.error('Error: the variable EXAMPLE_API_KEY is required');
  process.exit(1);
}
if (name === 'wants-git') {
  console.error('sh: 1: git: not found');
  process.exit(127);
}
if (name === 'no-server') {
  console.log('Usage: no-server <file>');
  setInterval(() => {}, 1000);
} else {
  const child = spawn(process.execPath, ['${fixtures}/' + name + '.mjs', ...args], { stdio: 'inherit' });
  child.on('exit', code => process.exit(code ?? 1));
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => child.kill(signal));
}
`;

type Override = {
  /** Runtime that runs servers in containers. */
  readonly docker?: { readonly runtime: Runtime & { readonly upkeep: Upkeep } };
  readonly fetch?: typeof globalThis.fetch;
  readonly add?: InstallsNeeds['configFile']['add'];
  readonly registries?: Parameters<typeof createPins>[0];
  readonly pinning?: NonNullable<InstallsNeeds['pinning']>;
};

/** Creates installs over a config in memory. Everything else is real. */
export function createInstallHub(override: Override = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'agenthub-install-'));
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'npx'), npx);
  chmodSync(join(bin, 'npx'), 0o755);
  const { log, logged } = createRecordingLog();
  const place = { auto: override.docker ? 'docker' : 'process', dataDir: folder } as const;
  const here = createProcessRuntime(
    {
      environment: { ...process.env, PATH: `${bin}:${process.env['PATH']}` },
      platform: process.platform,
    },
    { clock: systemClock },
  );
  const runtimes = {
    docker: override.docker?.runtime ?? here,
    process: here,
    remote: createRemoteRuntime({}, { clock: systemClock, log, random: () => 1 }),
  };
  const entries = new Map<string, JsonObject>();
  const configs = new Map<string, ServerConfig>();
  const servers = new Map<string, Server>();
  const launched: LaunchSpec[] = [];
  const base = {
    clock: systemClock,
    log,
    random: () => 1,
    hubVersion: '0.0.0-test',
    eras: createTestEras(log),
  };
  const launch: Parameters<typeof tryServer>[1]['launch'] = async (
    config,
    events,
    signal,
    instance,
  ) => {
    const spec = planLaunch(config, place, instance);
    launched.push(spec);
    if (spec.target.kind === 'process')
      mkdirSync(join(folder, 'servers', spec.server), { recursive: true });
    return await runtimes[spec.target.kind].launch(spec, events, signal);
  };

  let files = 0;
  async function check(name: string, entry: object): Promise<ServerConfig> {
    const file = join(folder, `check-${files++}.json`);
    writeFileSync(file, JSON.stringify({ servers: { [name]: entry } }));
    try {
      const { servers: found } = await loadConfig(file, {
        env: { GIVEN: 'value' },
        home: folder,
        secrets: async names =>
          new Map(names.filter(name => name === 'API_KEY').map(name => [name, { value: 'value' }])),
      });
      const [config] = found;
      if (!config) throw new TypeError('the entry is there');
      return config;
    } finally {
      rmSync(file);
    }
  }
  /** Writes an entry to the file, without applying it. */
  const write = async (name: string, entry: JsonObject) => {
    entries.set(name, entry);
    const config = await check(name, entry);
    configs.set(name, config);
    return config;
  };
  const inForce = async (name: string, entry: JsonObject) => {
    const config = await write(name, entry);
    servers.set(
      name,
      createServer(config, {
        ...base,
        launch,
        instances: { count: () => 0, isHeard: () => false },
      }),
    );
  };

  const installs = createInstalls({
    log,
    pins: createPins(override.registries ?? registriesOf({}), {
      clock: systemClock,
      fetch: override.fetch ?? globalThis.fetch,
    }),
    configFile: {
      check,
      add: override.add ?? inForce,
      async remove(name) {
        await servers.get(name)?.close('removed');
        servers.delete(name);
        entries.delete(name);
        configs.delete(name);
      },
      configs: () => [...configs.values()],
      secretsLeftBy: async () => [],
    },
    servers: {
      get all() {
        return [...servers.values()];
      },
      find: name => servers.get(name),
    },
    trial: (config, events, signal) => tryServer(config, { ...base, launch }, events, signal),
    specOf: config => planLaunch(config, place),
    ...(override.pinning && { pinning: override.pinning }),
    upkeeps: {
      process: createFolderUpkeep(folder),
      ...(override.docker && { docker: override.docker.runtime.upkeep }),
    },
  });
  const progress: InstallProgress[] = [];

  return {
    installs,
    entries,
    servers,
    launched,
    logged,
    progress,
    folder,
    inForce,
    write,
    install: (request: Partial<InstallRequest>, signal = new AbortController().signal) =>
      installs.install(requestOf(request), one => progress.push(one), signal),
    async [Symbol.asyncDispose]() {
      await installs.stop();
      await Promise.all(Array.from(servers.values(), server => server.close('stopping')));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Returns an install request for the fixture `echo`, with the given differences. */
export function requestOf(request: Partial<InstallRequest>): InstallRequest {
  return {
    name: undefined,
    source: { package: 'echo@1.0.0' },
    transport: undefined,
    variables: {},
    args: undefined,
    env: {},
    headers: {},
    confirm: [],
    rest: {},
    ...request,
  };
}
