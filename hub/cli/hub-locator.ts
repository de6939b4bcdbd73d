import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { type LoadOptions, type Settings, readConfig, readSettings, serversFileOf } from '#config';
import { addressOf } from '#core';
import type { CliNeeds } from './needs.ts';
import { usageError } from './values.ts';

type HubLocatorOptions = {
  /** The process's environment only: a `.env` in the working folder may not name a key file. */
  readonly env: NodeJS.ProcessEnv;
  /** Installation folder of this hub: contains the compose file and the data folder of "npm start". */
  readonly root: string;
  /** Text of `.env` in the working folder. */
  readonly readDotenv: () => Promise<string>;
  readonly readOptions: () => Promise<LoadOptions>;
};

/** Finds the hub to call, from environment, `.env` and config file, or at a given URL, and its owner's key. */
export function createHubLocator({
  env,
  root,
  readDotenv,
  readOptions,
}: HubLocatorOptions): Pick<CliNeeds, 'findHub' | 'findOwnerKey'> &
  Pick<CliNeeds['files'], 'findDataFolders'> {
  async function readSetup() {
    const dotenv = await readDotenv();
    const reading = await readConfig(serversFileOf(env, dotenv), await readOptions());
    // Calling a hub must work without a valid config file.
    const settings = readSettings(env, dotenv, reading.config);
    const { dataDir, inContainer } = settings;
    const dataDirs = env['DATA_DIR'] ? [dataDir] : [...new Set([dataDir, join(root, 'data')])];
    const file = join(root, 'docker-compose.yml');
    const compose = await access(file).then(
      () => (inContainer ? undefined : { file, env }),
      () => undefined,
    );
    return { settings, dataDirs, compose };
  }

  return {
    async findHub(given) {
      const { settings, dataDirs, compose } = await readSetup();
      const url = given ?? (await findAddress(settings, env, dataDirs));
      const isNamed = given !== undefined;
      const { ROUTER_HOST: host, ROUTER_TOKEN: ownToken } = env;
      if (!isNamed && ownToken && !host && URL.parse(url)?.hostname !== 'localhost')
        throw usageError(
          `ROUTER_HOST: a file in this folder says that the hub is at ${url}, but ROUTER_TOKEN is from your environment. A folder must not decide where your token is sent: add --url ${url} if that is your hub`,
        );
      const keyFile = env['AGENTHUB_OWNER_KEY_FILE'] || undefined;
      const { readOwnCertificate } = await import('#connector');
      return {
        url,
        token: settings.token,
        certificate: await readOwnCertificate(env),
        async ownerAccess(signal) {
          const { findOwnerAccess } = await import('./owner.ts');
          return await findOwnerAccess(url, { dataDirs, keyFile, isNamed, compose }, signal);
        },
        async runningAccess() {
          const { findRunningAccess } = await import('./owner.ts');
          return keyFile === undefined ? await findRunningAccess(url, dataDirs) : undefined;
        },
      };
    },
    async findDataFolders() {
      return (await readSetup()).dataDirs;
    },
    async findOwnerKey(signal) {
      const { dataDirs, compose } = await readSetup();
      const { findStoredKey } = await import('./owner.ts');
      return await findStoredKey(dataDirs, compose, signal);
    },
  };
}

/**
 * The address of this user's hub: that of the settings, or where the hub that runs with one of the data folders listens,
 * because `agenthub serve --port` and other settings may have decided that. The environment comes first.
 */
export async function findAddress(
  settings: Pick<Settings, 'host' | 'port' | 'tls'>,
  env: NodeJS.ProcessEnv,
  dataDirs: readonly string[],
): Promise<string> {
  const address = addressOf({ ...settings, isSecure: settings.tls !== undefined });
  if (env['ROUTER_PORT'] || env['ROUTER_HOST']) return address;
  const { findRunning } = await import('#store');
  const found = await Promise.all(dataDirs.map(findRunning));
  const urls = found.flatMap(running => (running ? [running.url] : []));
  return urls.includes(address) ? address : (urls[0] ?? address);
}
