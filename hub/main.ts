import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import {
  type Config,
  type Settings,
  checkTags,
  defaultRulesFile,
  loadConfig,
  mergeEnvironment,
  readConfig as readWholeConfig,
  readRules,
  readSettings,
  serversFileOf,
  withTags,
} from '#config';
import { type ServeOptions, createCli } from '#cli';
import { type Log, HubError, addressOf, messageOf, systemClock } from '#core';
import { type OpenLog, openLog } from '#telemetry';
import type { ConfigFiles } from './configuration.ts';

const root = join(import.meta.dirname, '..');
const imagesDir = join(root, 'images');
const version = String(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')).version);

/** The text of `.env` in the working folder; none where there is no such file. */
async function readDotenv(): Promise<string> {
  try {
    return await readFile('.env', 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw new HubError(
      'HUB_CONFIG_INVALID',
      `.env: the file cannot be read (${messageOf(error)}). Let this user read it, or remove it`,
      { cause: error },
    );
  }
}

async function settingsWith(
  { configFile, port }: ServeOptions,
  manifest?: Config,
): Promise<Settings> {
  return {
    ...readSettings(process.env, await readDotenv(), manifest),
    ...(configFile !== undefined && { serversFile: configFile }),
    ...(port !== undefined && { port }),
  };
}

const readOptions = async () => ({
  env: mergeEnvironment(process.env, await readDotenv()),
  home: homedir(),
});

const readConfig = async ({ serversFile }: Settings) =>
  await loadConfig(serversFile, await readOptions());

/** The files of the config, of which only the servers with these tags are of concern. */
async function configFiles(options: ServeOptions): Promise<ConfigFiles> {
  const file = options.configFile ?? serversFileOf(process.env, await readDotenv());
  let whole: Config | undefined;
  const read = async () => {
    const reading = await readWholeConfig(file, await readOptions());
    if (reading.error) return reading;
    whole = reading.config;
    return options.tags ? { ...reading, config: withTags(reading.config, options.tags) } : reading;
  };
  const first = await read();
  if (first.error) throw first.error;
  // Later on the last server with a tag may go.
  if (whole && options.tags) checkTags(whole, options.tags);
  return {
    file,
    first,
    read,
    readOptions,
    settings: async () => await settingsWith(options, whole),
    servers: () => whole?.servers ?? [],
    tags: options.tags,
  };
}

const stdio = { input: process.stdin, output: process.stdout };

let opened: OpenLog | undefined;
async function openLogOf({ logLevel, logFormat }: Settings): Promise<Log> {
  const format = logFormat ?? (process.stderr.isTTY ? 'pretty' : 'json');
  opened = await openLog({ level: logLevel, format }, process.stderr);
  return opened.log;
}

const cli = createCli({
  version,
  async loadConfig(configFile) {
    const settings = await settingsWith(configFile === undefined ? {} : { configFile });
    const { rulesFile } = settings;
    const { error } = await readRules(rulesFile);
    if (error && (error.code !== 'HUB_CONFIG_MISSING' || rulesFile !== defaultRulesFile))
      throw error;
    return { file: settings.serversFile, config: await readConfig(settings) };
  },
  async startApp(options, signal) {
    const files = await configFiles(options);
    const settings = await files.settings();
    const log = await openLogOf(settings);
    // The broker needs none of the app, and has less memory to be attacked in without it.
    const { startApp } = await import('./app.ts');
    return await startApp(
      {
        files,
        settings,
        version,
        imagesDir,
        environment: process.env,
        log,
        listens: options.stdio !== true || options.port !== undefined,
        stdio: options.stdio ? stdio : undefined,
      },
      signal,
    );
  },
  async connectStdio(options, signal) {
    // Not of a `.env`: the client runs in folders whose files must not decide who gets the token.
    const settings = readSettings(process.env);
    const log = await openLogOf(settings);
    const { bridgeStdio, dialHub, maxMessageBytes } = await import('#transports');
    const hub = {
      url: options.url ?? addressOf({ ...settings, isSecure: settings.tls !== undefined }),
      server: options.server,
      token: settings.token,
    };
    await bridgeStdio(
      stdio,
      { maxMessageBytes, graceMs: 5_000 },
      { dial: on => dialHub(hub, on, systemClock), clock: systemClock, random: Math.random, log },
      signal,
    );
  },
  async examine() {
    const settings = await settingsWith({});
    const { createSurveyor } = await import('#runtimes/docker');
    const { findHubId } = await import('#store');
    const surveyor = createSurveyor(settings.dockerHost, { clock: systemClock });
    const hubId = settings.hubId ?? (await findHubId(settings.dataDir));
    return { ...surveyor, hubId, dataDir: settings.dataDir };
  },
  async startBroker(signal) {
    const log = await openLogOf(await settingsWith({}));
    const { createBroker, readBrokerOptions } = await import('#broker');
    const { readBuildContext } = await import('#runtimes/docker');
    const broker = createBroker(readBrokerOptions(process.env, imagesDir), {
      log,
      readBuildContext,
    });
    await broker.start(signal);
    return broker;
  },
});

const ending = new AbortController();
/** Under npm one Ctrl-C arrives twice: from the terminal, and handed on by npm. In milliseconds. */
const sameSignalMs = 1_000;
let endingSince = 0;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => {
    if (!ending.signal.aborted) {
      endingSince = performance.now();
      ending.abort();
    } else if (performance.now() - endingSince > sameSignalMs) {
      // Who asks again does not want to wait.
      process.stderr.write('Ended at once. What still runs is removed by the next start.\n');
      process.exit(1);
    }
  });
// A terminal that was closed and a pipe that nobody reads any more are no reason to die.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
// A bug ends the hub, but in order: its servers would outlive it.
process.on('uncaughtException', error => {
  process.exitCode = 1;
  opened?.log.error({ error: error.stack }, 'the hub ends because of an error of its own');
  if (!opened) process.stderr.write(`${error.stack}\n`);
  ending.abort();
});

// Under npm there is a shell between npm and the hub, which dies of the signal that npm hands on and
// does not hand it on itself. Without its parent the hub has nobody who could stop it.
if (process.env['npm_lifecycle_event'] !== undefined) {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) ending.abort();
  }, 500).unref();
}

const code = await cli.run(process.argv.slice(2), {
  out: text => process.stdout.write(`${text}\n`),
  err: text => process.stderr.write(`${text}\n`),
  signal: ending.signal,
});
await opened?.close();
// Not left to the event loop: a log that nobody reads would keep the process for ever.
if (opened) process.exit(process.exitCode ?? code);
process.exitCode ??= code;
