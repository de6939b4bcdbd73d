import { mkdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import {
  type HubScreen,
  type ServeOptions,
  createAsk,
  createCli,
  createEnding,
  createHubLocator,
  createIo,
  findAddress,
  openBrowser,
} from '#cli';
import { type Settings, createShippedFiles, readSettings } from '#config';
import { type Log, errorCodeOf, isLoopback, messageOf, systemClock } from '#core';
import type { Redaction, openLog } from '#telemetry';
import { createCommandFiles } from './app/command-files.ts';
import { openConfigFiles } from './app/config-files.ts';
import { createHubPaths } from './app/hub-paths.ts';
import { createSetup } from './app/setup.ts';
import type { ConfigFiles } from './app/wire-config.ts';

const root = join(import.meta.dirname, '..');
const imagesDir = join(root, 'images');
const version = String(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')).version);
const ending = createEnding(process, systemClock);
const here = {
  env: process.env,
  platform: process.platform,
  home: homedir(),
  folder: process.cwd(),
  root,
  signal: ending.signal,
};

/** Finds the config files of MCP clients. */
async function clientFiles(home: string): Promise<readonly string[]> {
  const { allConfigFiles } = await import('#clients');
  return allConfigFiles({ ...(await machineHere()), home }).map(({ file }) => file);
}

async function machineHere() {
  const { findMachine } = await import('#clients');
  const { platform, env } = process;
  return await findMachine({ platform, home: homedir(), folder: process.cwd(), env });
}

const setupOf = (whose: 'own' | 'running') =>
  createSetup({ paths: createHubPaths({ ...here, whose }), root, clientFiles });
/** Setup of commands, for the running hub. */
const setup = setupOf('running');
const { paths, settingsWith, readOptions } = setup;

/** Collects the secrets of the servers and of the hub, for redaction. */
async function secretsOf(
  { servers }: ConfigFiles,
  settings: Settings,
  { secrets, paths: own }: typeof setup,
): Promise<() => readonly string[]> {
  const { createKnownSecrets } = await import('#telemetry');
  return createKnownSecrets(servers, {
    variables: await own.readEnvironment(),
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
async function openLogOf(
  settings: Settings,
  redaction?: Redaction,
  screen?: Pick<HubScreen, 'log'>,
): Promise<Log> {
  const { logLevel, logFormat } = settings;
  if (screen) {
    const { openScreenLog } = await import('./app/screen-log.ts');
    opened = openScreenLog(settings, screen, redaction);
    return opened.log;
  }
  const format = logFormat ?? (process.stderr.isTTY ? 'pretty' : 'json');
  // Most commands have no log, and loading it takes a tenth of the time of their start.
  const telemetry = await import('#telemetry');
  opened = await telemetry.openLog(
    { level: logLevel, format },
    process.stderr,
    systemClock,
    redaction,
  );
  return opened.log;
}

const showsScreen = ({ stdio }: ServeOptions, { logFormat }: Settings) =>
  stdio !== true && logFormat === undefined && process.env['TERM'] !== 'dumb';
const isVerbose = ({ logLevel }: Settings) => ['debug', 'trace'].includes(logLevel);

const { findDataFolders, ...locator } = createHubLocator({
  env: process.env,
  root,
  layout: paths.layout,
  readEnvironment: paths.readEnvironment,
  readOptions,
  findKnownHubs: paths.findKnownHubs,
});

const cli = createCli({
  version,
  files: { findDataFolders, ...createCommandFiles(setup, { version, root }) },
  ...locator,
  async openBrowser(url) {
    const { writeWhole } = await import('#store');
    const { platform, env } = process;
    const folder = paths.user.state;
    await mkdir(folder, { recursive: true, mode: 0o700 }).catch(() => undefined); // The link is printed instead.
    return await openBrowser(url, { platform, env, folder }, { writeWhole });
  },
  async openClients() {
    const { createClients } = await import('#clients');
    const { writeWhole } = await import('#store');
    // Before the first start, uses the config that the first start would write.
    const { serversFile } = await settingsWith({});
    const shipped = createShippedFiles({ [serversFile]: paths.shipped.configFile });
    return createClients({
      machine: await machineHere(),
      writeWhole,
      readOptions: async () => ({ ...(await readOptions()), ...shipped }),
      readBytes: shipped.readBytes,
      recordsFolder: async () => resolve((await settingsWith({})).dataDir, 'imports'),
      now: Date.now,
      openSecrets: setup.secrets.open,
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
    const { createSurveyor } = await import('#runtimes/docker');
    const { volumesOf } = await import('#servers');
    const { findHubId } = await import('#store');
    const { dataDir } = settings;
    return {
      ...createSurveyor(settings.dockerHost, { clock: systemClock }),
      knownHubs: paths.findKnownHubs,
      hubId: settings.hubId ?? (await findHubId(dataDir)),
      dataDir,
      hubName: settings.hubName,
      async ollama(signal) {
        const rules = await setup.rulesIn(settings.rulesFile, await setup.findShipped({}));
        const { examineOllama } = await import('./app/examine-ollama.ts');
        return await examineOllama(settings, { rules, clock: systemClock }, signal);
      },
      volumesOf: config => volumesOf(config).map(({ name }) => name),
    };
  },
  services: {
    async startApp(options, signal, openScreen) {
      const own = setupOf('own');
      const first = await own.paths.writeFirst(options.configFile);
      const files = await openConfigFiles(options, own);
      const settings = await files.settings();
      const { createRedaction } = await import('#telemetry');
      const redaction = createRedaction(await secretsOf(files, settings, own));
      const screen = showsScreen(options, settings) ? openScreen?.(isVerbose(settings)) : undefined;
      const log = await openLogOf(settings, redaction, screen);
      await own.paths.report(first, log);
      // The broker does not load this module: less code means a smaller attack surface.
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
          watchServers: screen && (servers => screen.watch(servers)),
          redaction,
          openSecrets: own.secrets.open,
          noteHub: async hubId => {
            await own.paths.note(files.file, settings, log);
            await own.paths.requireNoCopy(settings.dataDir, hubId);
          },
          listens: options.stdio !== true || options.port !== undefined,
          stdio: options.stdio ? stdio : undefined,
          profile: options.profile,
        },
        signal,
      );
    },
    async connectStdio(options, signal) {
      // Ignores `.env`: files in the folder of the client must not determine who gets the token.
      const trusted = createHubPaths({ ...here, whose: 'trusted' });
      const settings = readSettings(await trusted.readEnvironment());
      const log = await openLogOf(settings);
      const { bridgeStdio, dialHub, readOwnCertificate } = await import('#connector');
      const { maxMessageBytes } = await import('#jsonrpc');
      const { callTokenFile, readKey } = await import('#store');
      const url =
        options.url ?? (await findAddress(settings, process.env, await trusted.dataFolders()));
      // The call token of the hub on this machine must not be sent to any other host.
      const callToken = isLoopback(URL.parse(url)?.hostname ?? '')
        ? await readKey(join(settings.dataDir, callTokenFile))
        : undefined;
      const hub = {
        url,
        server: options.server,
        token: settings.token ?? callToken,
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
      const broker = createBroker(options, {
        log,
        clock: systemClock,
        readBuildContext,
        readLock,
      });
      await broker.start(signal);
      return broker;
    },
  },
});

// A closed terminal or pipe must not end the process.
const io = createIo(process, ending.signal, systemClock);
// A full disk fails the command, whose output may be a token that is shown only now.
process.stdout.on('error', error => {
  if (!['ENOSPC', 'EDQUOT', 'EFBIG'].includes(errorCodeOf(error) ?? '')) return;
  if (process.exitCode === undefined)
    io.err(`the output was not written: ${messageOf(error)}. Make room for it, and repeat this`);
  process.exitCode = 1;
});
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

// A command may wait only for a timer, such as the reconnect to Redis at the start, and the timers of the hub's clock
// do not keep the process alive.
const running = setInterval(() => {}, 60_000);
// A rejected `await` would leave the process waiting for the timer.
const code = await cli.run(process.argv.slice(2), io).catch(endAfter);
clearInterval(running);
await opened?.close();
// Exits explicitly: a log pipe without a reader would keep the process alive.
if (opened) process.exit(process.exitCode ?? code);
process.exitCode ??= code;
