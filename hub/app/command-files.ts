import { readFile, realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { CliNeeds } from '#cli';
import { createConfigEditor, readConfig, unwritable, writeFirstConfig } from '#config';
import { type JsonObject, systemClock } from '#core';
import { ownPath } from './own-path.ts';
import { secretsLeftBy } from './secrets-left.ts';
import type { Setup } from './setup.ts';

/** Environment variables that decide which files and which engine a hub uses. */
const placeVariables = [
  'AGENTHUB_HOME',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_STATE_HOME',
  'MCP_SERVERS_CONFIG',
  'DATA_DIR',
  'DOCKER_HOST',
];

/** Gives commands access to the files of the hub while no hub runs. */
export function createCommandFiles(
  { paths, secrets, settingsWith, readOptions, findShipped, loadConfig }: Setup,
  { version, root }: { readonly version: string; readonly root: string },
): Omit<CliNeeds['files'], 'findDataFolders'> {
  return {
    loadConfig,
    async checkPlaces() {
      const { tls, dataDir } = await settingsWith({});
      const { checkDataDir } = await import('#store');
      await checkDataDir(dataDir);
      return tls ? await (await import('#http')).checkTls(tls, systemClock) : [];
    },
    async findLockFault(configFile) {
      const { findLockFault } = await import('#definitions');
      return await findLockFault(resolve(configFile ?? (await settingsWith({})).serversFile));
    },
    async readTokenNames() {
      const { readStoredNames } = await import('./wire-clients.ts');
      return await readStoredNames(await settingsWith({}));
    },
    findConfigFile: async () => (await settingsWith({})).serversFile,
    async createConfig() {
      const { serversFile: file } = await settingsWith({});
      const { kind, isConfigNamed } = await paths.layout();
      const isPrivate = kind === 'user' && !isConfigNamed;
      try {
        return (await writeFirstConfig(resolve(file), paths.shipped, isPrivate)) ? file : undefined;
      } catch (error) {
        throw unwritable(file, error);
      }
    },
    async readRecipe(name) {
      const file = join(root, 'examples', `${name}.json`);
      const recipe: { readonly servers: Readonly<Record<string, JsonObject>> } = JSON.parse(
        await readFile(file, 'utf8'),
      );
      const entry = recipe.servers[name];
      if (!entry) throw new TypeError(`${file} has no server of this name`);
      return entry;
    },
    findDotenv: async () => (await paths.layout()).dotenvFile,
    async describeProgram() {
      const { execPath: node, argv, env, platform } = process;
      const { kind, dotenvFile } = await paths.layout();
      const places = placeVariables.map(name => [name, env[name]] as const);
      const named = [['PATH', ownPath(env)] as const, ...places].flatMap(([name, value]) =>
        value ? [[name, value] as const] : [],
      );
      return {
        node,
        script: await realpath(argv[1] ?? ''),
        folder: kind === 'user' ? paths.user.config : dirname(resolve(dotenvFile)),
        env: Object.fromEntries(named),
        platform,
        home: homedir(),
        version,
      };
    },
    async editConfig() {
      const { writeWhole } = await import('#store');
      return createConfigEditor({ readOptions, writeWhole });
    },
    async openTokens(warn) {
      const { openStoredClients } = await import('./wire-clients.ts');
      const { serversFile } = await settingsWith({});
      const shipped = await findShipped({});
      // Reads the whole config: tokens of clients that are not in it count as revoked.
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
    async removeStoredLogin(server) {
      const { loginSecretOf } = await import('#oauth');
      const name = loginSecretOf(server);
      const { own } = await secrets.open();
      const text = await own.read(name).catch(() => ''); // A login that cannot be read can still be removed.
      // `remove` would create the data folder.
      return text !== undefined && (await own.remove(name));
    },
    secretsLeftBy: (server, { secretUses }) => secretsLeftBy(server, secretUses, secrets.open),
    async recordChange(change, warn) {
      const { recordStored } = await import('./wire-clients.ts');
      const { serversFile } = await settingsWith({});
      // Without a valid config, the defaults of the audit log apply.
      const { config } = await readConfig(serversFile, await readOptions());
      await recordStored(change, {
        config: config ?? {},
        settings: await settingsWith({}),
        clock: systemClock,
        audit: { hubVersion: version, warn },
      });
    },
  };
}
