import { access } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Environment,
  type HubLayout,
  type LoadOptions,
  type Settings,
  readConfig,
  readSettings,
} from '#config';
import { addressOf } from '#core';
import type { KnownHub } from '#store';
import type { CliNeeds } from './needs.ts';
import { usageError } from './values.ts';

type HubLocatorOptions = {
  /** Environment of the process, without the working folder's `.env`, which may not name a key file. */
  readonly env: NodeJS.ProcessEnv;
  /** Folder in which this hub is installed, with the compose file and the data folder of earlier versions. */
  readonly root: string;
  readonly layout: () => Promise<Pick<HubLayout, 'kind' | 'configFile' | 'dataDir'>>;
  /** Reads the environment over the variables in `.env`, with the variables that name the files of the layout. */
  readonly readEnvironment: () => Promise<Environment>;
  readonly readOptions: () => Promise<LoadOptions>;
  /** Returns the hubs of this user, running or not. */
  readonly findKnownHubs: () => Promise<readonly Pick<KnownHub, 'dataDir' | 'running'>[]>;
};

/** Finds the hub to call and its owner's key, from environment, `.env` and config file, or for a given URL. */
export function createHubLocator({
  env,
  root,
  layout,
  readEnvironment,
  readOptions,
  findKnownHubs,
}: HubLocatorOptions): Pick<CliNeeds, 'findHub' | 'findOwnerKey'> &
  Pick<CliNeeds['files'], 'findDataFolders'> {
  async function readSetup() {
    const { kind, configFile, dataDir } = await layout();
    const reading = await readConfig(configFile, await readOptions());
    // Calling a hub must work without a valid config file.
    const settings = readSettings(await readEnvironment(), '', reading.config);
    const isOnly = Boolean(env['DATA_DIR']);
    const known = isOnly ? [] : (await findKnownHubs()).filter(({ running }) => running);
    const earlier = isOnly ? [] : [join(root, 'data')];
    const dataDirs = [...new Set([dataDir, ...earlier, ...known.map(hub => hub.dataDir)])];
    const file = join(root, 'docker-compose.yml');
    const compose = await access(file).then(
      () => (settings.inContainer ? undefined : { file, env }),
      () => undefined,
    );
    /** Data folders of the hubs that a command without `--url` may mean. */
    const meant = kind === 'folder' ? [dataDir, ...earlier] : dataDirs;
    return { settings, dataDirs, meant, compose };
  }

  return {
    async findHub(given) {
      const { settings, dataDirs, meant, compose } = await readSetup();
      const url = given ?? (await findAddress(settings, env, meant));
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
      const { kind, dataDir } = await layout();
      // The hub of a folder that has written nothing yet has no log. That of another hub must not pass for it.
      return kind === 'folder' ? [dataDir] : (await readSetup()).dataDirs;
    },
    async findOwnerKey(signal) {
      const { settings, meant, compose } = await readSetup();
      await findAddress(settings, {}, meant);
      const { findStoredKey } = await import('./owner.ts');
      return await findStoredKey(meant, compose, signal);
    },
  };
}

/**
 * Returns the address of the hub that a command is for. If ROUTER_PORT or ROUTER_HOST is set, they decide. Otherwise it
 * is the hub that runs with the first data folder; if none does, the only hub that runs with another data folder; and
 * if no hub runs, the address in the settings. Rejects with HUB_USAGE if several hubs run with other data folders.
 */
export async function findAddress(
  settings: Pick<Settings, 'host' | 'port' | 'tls'>,
  env: NodeJS.ProcessEnv,
  dataDirs: readonly string[],
): Promise<string> {
  const address = addressOf({ ...settings, isSecure: settings.tls !== undefined });
  if (env['ROUTER_PORT'] || env['ROUTER_HOST']) return address;
  const { findRunning } = await import('#store');
  const found = await Promise.all(
    dataDirs.map(async folder => ({ folder, url: (await findRunning(folder))?.url })),
  );
  const running = found.flatMap(({ folder, url }) => (url === undefined ? [] : [{ folder, url }]));
  const [first, ...others] = running;
  if (!first || first.folder === dataDirs[0] || others.length === 0) return first?.url ?? address;
  throw usageError(
    `${running.length} hubs of yours are running: ${running.map(({ folder, url }) => `${url} with its data in ${folder}`).join(', ')}. Name one with --url, or set DATA_DIR`,
  );
}
