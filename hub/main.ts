import { access, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import {
  type ServeOptions,
  createAsk,
  createCli,
  createEnding,
  createHubLocator,
  createIo,
  findAddress,
  openBrowser,
} from '#cli';
import {
  type Config,
  type Environment,
  type GuardedPlace,
  type LoadOptions,
  type Settings,
  type ShippedFiles,
  checkTags,
  createConfigEditor,
  createShippedFiles,
  dataDirOf,
  defaultRules,
  defaultRulesFile,
  defaultServersFile,
  mergeEnvironment,
  readConfig,
  readRules,
  readSecretFiles,
  readSettings,
  serversFileOf,
  withTags,
} from '#config';
import { type Log, HubError, errorCodeOf, messageOf, systemClock } from '#core';
import { type Redaction, createKnownSecrets, createRedaction, openLog } from '#telemetry';
import { createSecretsAccess } from './app/open-secrets.ts';
import type { ConfigFiles } from './app/wire-config.ts';

const root = join(import.meta.dirname, '..');
const imagesDir = join(root, 'images');
const version = String(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')).version);

/** The text of `.env` in the working folder, if any. */
async function readDotenv(): Promise<string> {
  try {
    return await readFile('.env', 'utf8');
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return '';
    throw new HubError(
      'HUB_CONFIG_INVALID',
      `.env: the file cannot be read (${messageOf(error)}). Let this user read it, or remove it`,
      { cause: error },
    );
  }
}

const readEnvironment = async () => mergeEnvironment(process.env, await readDotenv());

const secrets = createSecretsAccess(readEnvironment);

async function settingsWith(
  { configFile, port }: ServeOptions,
  manifest?: Config,
): Promise<Settings> {
  return {
    ...readSettings(await readSecretFiles(await readEnvironment()), '', manifest),
    ...(configFile !== undefined && { serversFile: configFile }),
    ...(port !== undefined && { port }),
  };
}

async function readOptions(): Promise<LoadOptions> {
  const env = await readEnvironment();
  return { env, home: homedir(), secrets: secrets.read, ownPlaces: ownPlacesIn(env), clientFiles };
}

/** Paths that servers must not write to, and the keys among them. */
function ownPlacesIn(env: Environment): readonly GuardedPlace[] {
  // In a container the paths of mounts belong to the host.
  if (['1', 'true'].includes(env['AGENTHUB_IN_CONTAINER']?.trim().toLowerCase() ?? '')) return [];
  const keyFile = env['ROUTER_TLS_KEY']?.trim();
  return [
    { path: resolve('.env'), what: "the hub's variables", kind: 'both' },
    { path: resolve(dataDirOf(env)), what: "the hub's data folder", kind: 'both' },
    { path: root, what: "the hub's code", kind: 'run' },
    ...(keyFile
      ? [{ path: resolve(keyFile), what: "the hub's TLS key", kind: 'both' } as const]
      : []),
  ];
}

/** The config files of MCP clients. */
async function clientFiles(home: string): Promise<readonly string[]> {
  const { allConfigFiles } = await import('#clients');
  return allConfigFiles({ ...(await machineHere()), home }).map(({ file }) => file);
}

async function machineHere() {
  const { findMachine } = await import('#clients');
  const { platform, env } = process;
  return await findMachine({ platform, home: homedir(), folder: process.cwd(), env });
}

/** The config source, limited to servers with these tags. */
async function configFiles(options: ServeOptions): Promise<ConfigFiles> {
  const { tags } = options;
  const file = options.configFile ?? serversFileOf(process.env, await readDotenv());
  let whole: Config | undefined;
  const shipped = await findShipped(options, file);
  const read = async () => {
    const reading = await readConfig(file, { ...(await readOptions()), ...shipped });
    if (reading.error) return reading;
    whole = reading.config;
    return tags ? { ...reading, config: withTags(reading.config, tags) } : reading;
  };
  const first = await read();
  if (first.error) throw first.error;
  // Only checked at the start: a later config may contain no server with a tag.
  if (whole && tags) checkTags(whole, tags);
  return {
    file,
    first,
    read,
    readOptions,
    settings: async () => await settingsWith(options, whole),
    servers: () => whole?.servers ?? [],
    listSecrets: async () => await (await secrets.open()).list(whole?.secretUses ?? []),
    tags,
    ...(shipped && { shipped }),
  };
}

/** The shipped servers and rules, for a folder without its own. */
const shippedConfigs = {
  [defaultServersFile]: join(root, 'configs', 'mcp-servers.json'),
  [defaultRulesFile]: join(root, 'configs', 'enhancement-rules.json'),
};

async function findShipped({ configFile }: ServeOptions, file: string) {
  if (configFile !== undefined || file !== defaultServersFile) return undefined;
  return await access(file).then(
    () => undefined,
    () => createShippedFiles(shippedConfigs),
  );
}

/** The rules for prompts, or the built-in ones without a file. Throws HubError. */
async function rulesIn(file: string, shipped?: ShippedFiles) {
  const { rules, error } = await readRules(file, shipped);
  if (error && (error.code !== 'HUB_CONFIG_MISSING' || file !== defaultRulesFile)) throw error;
  return rules ?? defaultRules;
}

/** The secrets of the servers and of the hub, for redaction. */
async function secretsOf(files: ConfigFiles, settings: Settings): Promise<() => readonly string[]> {
  return createKnownSecrets(files.servers, {
    variables: await readEnvironment(),
    read: secrets.known,
    settings: [
      settings.token,
      settings.redisUrl,
      settings.qdrantUrl,
      settings.qdrantKey,
      settings.ollama.url,
      ...Object.values(settings.otlp?.headers ?? {}),
    ],
  });
}

const stdio = { input: process.stdin, output: process.stdout };

let opened: Awaited<ReturnType<typeof openLog>> | undefined;
async function openLogOf({ logLevel, logFormat }: Settings, redaction?: Redaction): Promise<Log> {
  const format = logFormat ?? (process.stderr.isTTY ? 'pretty' : 'json');
  opened = await openLog({ level: logLevel, format }, process.stderr, systemClock, redaction);
  return opened.log;
}

const { findDataFolders, ...locator } = createHubLocator({
  env: process.env,
  root,
  readDotenv,
  readOptions,
});

const cli = createCli({
  version,
  files: {
    findDataFolders,
    async loadConfig(configFile) {
      const options = configFile === undefined ? {} : { configFile };
      const { rulesFile, serversFile } = await settingsWith(options);
      await rulesIn(rulesFile);
      const shipped = await findShipped(options, serversFile);
      const reading = await readConfig(serversFile, { ...(await readOptions()), ...shipped });
      if (reading.error) throw reading.error;
      const { config } = reading;
      if (!shipped) return { file: serversFile, config };
      return { file: shippedConfigs[defaultServersFile], config, insteadOf: serversFile };
    },
    findConfigFile: async () => serversFileOf(process.env, await readDotenv()),
    async editConfig() {
      const { writeWhole } = await import('#store');
      return createConfigEditor({ readOptions, writeWhole });
    },
    async openTokens(warn) {
      const { openStoredClients } = await import('./app/wire-clients.ts');
      const { serversFile } = await settingsWith({});
      const shipped = await findShipped({}, serversFile);
      // The whole config: tokens that are not in it count as revoked.
      const reading = await readConfig(serversFile, { ...(await readOptions()), ...shipped });
      if (reading.error) throw reading.error;
      const settings = await settingsWith({}, reading.config);
      return await openStoredClients(reading.config, {
        settings,
        clock: systemClock,
        audit: { hubVersion: version, warn },
      });
    },
    openSecrets: secrets.open,
    async recordChange(change, warn) {
      const { recordStored } = await import('./app/wire-clients.ts');
      const { serversFile } = await settingsWith({});
      // Without a valid config the defaults of the audit log apply.
      const { config } = await readConfig(serversFile, await readOptions());
      await recordStored(change, {
        config: config ?? {},
        settings: await settingsWith({}),
        clock: systemClock,
        audit: { hubVersion: version, warn },
      });
    },
  },
  ...locator,
  async openBrowser(url) {
    const { writeWhole } = await import('#store');
    const { platform, env } = process;
    const { dataDir: folder } = await settingsWith({});
    return await openBrowser(url, { platform, env, folder }, { writeWhole });
  },
  async openClients() {
    const { createClients } = await import('#clients');
    const { writeWhole } = await import('#store');
    return createClients({
      machine: await machineHere(),
      writeWhole,
      readOptions,
      recordsFolder: async () => resolve((await settingsWith({})).dataDir, 'imports'),
      now: Date.now,
      openSecrets: secrets.open,
    });
  },
  async findBridge() {
    const { findBridge } = await import('#clients');
    const { execPath: node, argv, platform } = process;
    return await findBridge({ node, script: argv[1] ?? '', platform });
  },
  ask: process.stdin.isTTY ? createAsk(process.stdin, process.stderr) : undefined,
  async examine() {
    const settings = await settingsWith({});
    const { createSurveyor, volumeName } = await import('#runtimes/docker');
    const { volumesOf } = await import('#servers');
    const { findHubId } = await import('#store');
    const { dataDir } = settings;
    return {
      ...createSurveyor(settings.dockerHost, { clock: systemClock }),
      hubId: settings.hubId ?? (await findHubId(dataDir)),
      dataDir,
      async ollama(signal) {
        const shipped = await findShipped({}, settings.serversFile);
        const rules = await rulesIn(settings.rulesFile, shipped);
        const { examineOllama } = await import('./app/examine-ollama.ts');
        return await examineOllama(settings, { rules, clock: systemClock }, signal);
      },
      volumesOf: config => volumesOf(config).map(volume => volumeName(settings, volume)),
    };
  },
  services: {
    async startApp(options, signal) {
      const files = await configFiles(options);
      const settings = await files.settings();
      const redaction = createRedaction(await secretsOf(files, settings));
      const log = await openLogOf(settings, redaction);
      if (files.shipped)
        log.info(
          {},
          `there is no ${files.file} here: the servers and rules that come with AgentHub are in force, until there is one`,
        );
      // The broker does not load the app: less code means a smaller attack surface.
      const { startApp } = await import('./app/app.ts');
      return await startApp(
        {
          files,
          settings,
          version,
          imagesDir,
          environment: process.env,
          log,
          logged: opened?.written,
          redaction,
          openSecrets: secrets.open,
          listens: options.stdio !== true || options.port !== undefined,
          stdio: options.stdio ? stdio : undefined,
          profile: options.profile,
        },
        signal,
      );
    },
    async connectStdio(options, signal) {
      // Not from `.env`: files in the folder of the client must not determine who gets the token.
      const settings = readSettings(process.env);
      const log = await openLogOf(settings);
      const { bridgeStdio, dialHub, readOwnCertificate } = await import('#connector');
      const { maxMessageBytes } = await import('#transports');
      const { callTokenFile, readKey } = await import('#store');
      const hub = {
        url: options.url ?? (await findAddress(settings, process.env, [settings.dataDir])),
        server: options.server,
        token: settings.token ?? (await readKey(join(settings.dataDir, callTokenFile))),
        certificate: await readOwnCertificate(process.env),
      };
      await bridgeStdio(
        stdio,
        { maxMessageBytes, graceMs: 5_000 },
        { dial: on => dialHub(hub, on, systemClock), clock: systemClock, random: Math.random, log },
        signal,
      );
    },
    async startBroker(signal) {
      const log = await openLogOf(await settingsWith({}));
      const { createBroker, readBrokerOptions } = await import('#broker');
      const { readBuildContext, readLock } = await import('#runtimes/docker');
      const options = readBrokerOptions(process.env, imagesDir);
      const broker = createBroker(options, { log, readBuildContext, readLock });
      await broker.start(signal);
      return broker;
    },
  },
});

const ending = createEnding(process, systemClock);
// A closed terminal or pipe must not end the process.
const io = createIo(process, ending.signal, systemClock);
// After a bug, stop in order: otherwise the servers would keep running.
function endAfter(error: unknown): 1 {
  const stack = error instanceof Error ? error.stack : String(error);
  process.exitCode = 1;
  opened?.log.error({ error: stack }, 'the hub ends because of an error of its own');
  if (!opened) process.stderr.write(`${stack}\n`);
  ending.abort();
  return 1;
}
process.on('uncaughtException', endAfter);

// A command may wait only for a timer, such as the reconnect to Redis at the start, and timers of the hub's clock do not
// keep the process alive.
const running = setInterval(() => {}, 60_000);
// A rejected `await` would leave the process waiting for the timer.
const code = await cli.run(process.argv.slice(2), io).catch(endAfter);
clearInterval(running);
await opened?.close();
// Exits explicitly: a log pipe without a reader would keep the process alive.
if (opened) process.exit(process.exitCode ?? code);
process.exitCode ??= code;
