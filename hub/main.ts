import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type Settings, loadConfig, mergeEnvironment, readSettings } from '#config';
import { type ServeOptions, createCli } from '#cli';
import { createLog } from '#telemetry';

const root = join(import.meta.dirname, '..');
const imagesDir = join(root, 'images');
const version = String(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')).version);

/** The text of `.env` in the working folder; none where there is no such file. */
const dotenv = await readFile('.env', 'utf8').catch(() => '');

function settingsWith({ configFile, port }: ServeOptions): Settings {
  const settings = readSettings(process.env, dotenv);
  return {
    ...settings,
    ...(configFile !== undefined && { serversFile: configFile }),
    ...(port !== undefined && { port }),
  };
}

const readConfig = async (settings: Settings) =>
  await loadConfig(settings.serversFile, {
    env: mergeEnvironment(process.env, dotenv),
    home: homedir(),
  });

const openLog = async ({ logLevel, logFormat }: Settings) =>
  await createLog({ level: logLevel, format: logFormat });

const cli = createCli({
  version,
  async loadConfig(configFile) {
    const settings = settingsWith(configFile === undefined ? {} : { configFile });
    return { file: settings.serversFile, config: await readConfig(settings) };
  },
  async startApp(options, signal) {
    const settings = settingsWith(options);
    const config = await readConfig(settings);
    const log = await openLog(settings);
    // The broker needs none of the app, and has less memory to be attacked in without it.
    const { startApp } = await import('./app.ts');
    return await startApp(
      { config, settings, version, imagesDir, environment: process.env, log },
      signal,
    );
  },
  async startBroker(signal) {
    const log = await openLog(readSettings(process.env, dotenv));
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
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    // The first asks; who asks again does not want to wait.
    if (ending.signal.aborted) process.exit(1);
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

process.exitCode = await cli.run(process.argv.slice(2), {
  out: text => process.stdout.write(`${text}\n`),
  err: text => process.stderr.write(`${text}\n`),
  signal: ending.signal,
});
