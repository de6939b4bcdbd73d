import { homedir } from 'node:os';
import { resolve } from 'node:path';
import type { LoadedConfig, ServeOptions } from '#cli';
import {
  type Config,
  type EnhancementRules,
  type GuardedPlace,
  type LoadOptions,
  type Settings,
  type ShippedFiles,
  createShippedFiles,
  defaultRules,
  readConfig,
  readRules,
  readSecretFiles,
  readSettings,
} from '#config';
import type { HubPaths } from './hub-paths.ts';
import { createSecretsAccess } from './open-secrets.ts';

type SetupNeeds = {
  readonly paths: HubPaths;
  /** The folder of the hub's own code. */
  readonly root: string;
  /** Finds the config files of MCP clients, which no server may write to. */
  readonly clientFiles: (home: string) => Promise<readonly string[]>;
};

export type Setup = ReturnType<typeof createSetup>;

/** Reads the settings, the config and the rules of one hub from its files. All functions reject with HubError. */
export function createSetup({ paths, root, clientFiles }: SetupNeeds) {
  const { readEnvironment } = paths;
  const secrets = createSecretsAccess(readEnvironment);

  async function settingsWith(
    { configFile, port, isTrial }: ServeOptions,
    manifest?: Config,
  ): Promise<Settings> {
    return {
      ...readSettings(await readSecretFiles(await readEnvironment()), '', manifest),
      ...(configFile !== undefined && { serversFile: configFile }),
      ...(port !== undefined && { port }),
      ...(isTrial && { logLevel: 'silent' as const }),
    };
  }

  async function readOptions(): Promise<LoadOptions> {
    const env = await readEnvironment();
    return {
      env,
      home: homedir(),
      secrets: secrets.read,
      ownPlaces: await ownPlaces(),
      clientFiles,
    };
  }

  /** Returns the paths that servers must not write to, and the keys among them. */
  async function ownPlaces(): Promise<readonly GuardedPlace[]> {
    // If the hub runs in a container, the paths of mounts are on the host.
    if (paths.isInContainer) return [];
    const env = await readEnvironment();
    const keyFile = env['ROUTER_TLS_KEY']?.trim();
    return [
      {
        path: resolve((await paths.layout()).dotenvFile),
        what: "the hub's variables",
        kind: 'both',
      },
      { path: resolve(env['DATA_DIR'] ?? ''), what: "the hub's data folder", kind: 'both' },
      { path: paths.user.state, what: "the hub's notes on where hubs are", kind: 'both' },
      { path: root, what: "the hub's code", kind: 'run' },
      ...(keyFile
        ? [{ path: resolve(keyFile), what: "the hub's TLS key", kind: 'both' } as const]
        : []),
    ];
  }

  /** Returns the files that come with the hub and replace missing ones. Undefined if the user names the config file. */
  async function findShipped({ configFile }: ServeOptions): Promise<ShippedFiles | undefined> {
    const layout = await paths.layout();
    if (configFile !== undefined || (layout.isConfigNamed && !paths.isInContainer))
      return undefined;
    const { shipped } = paths;
    return createShippedFiles({
      [layout.configFile]: shipped.configFile,
      [layout.rulesFile]: shipped.rulesFile,
    });
  }

  /** Reads the rules for prompts. Returns the built-in rules if the default file is missing. */
  async function rulesIn(file: string, shipped?: ShippedFiles): Promise<EnhancementRules> {
    const { rules, error } = await readRules(file, shipped);
    const isOptional = file === (await paths.layout()).rulesFile;
    if (error && (error.code !== 'HUB_CONFIG_MISSING' || !isOptional)) throw error;
    return rules ?? defaultRules;
  }

  /** Reads the config of these options. Throws HubError if the config, its prompt rules or its settings are invalid. */
  async function loadConfig(configFile: string | undefined): Promise<LoadedConfig> {
    const options = configFile === undefined ? {} : { configFile };
    const { rulesFile, serversFile } = await settingsWith(options);
    const shipped = await findShipped(options);
    await rulesIn(rulesFile, shipped);
    const reading = await readConfig(serversFile, { ...(await readOptions()), ...shipped });
    if (reading.error) throw reading.error;
    const { config } = reading;
    // Throws if the settings in the file would keep a hub from starting.
    await settingsWith(options, config);
    if (!(await shipped?.standsIn(serversFile))) return { file: serversFile, config };
    return { file: paths.shipped.configFile, config, insteadOf: serversFile };
  }

  return { paths, secrets, settingsWith, readOptions, findShipped, rulesIn, loadConfig };
}
