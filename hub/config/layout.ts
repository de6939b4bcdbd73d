import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { defaultRulesFile } from './backends.ts';
import { defaultDataDir, defaultServersFile } from './settings.ts';
import type { UserFolders } from './user-folders.ts';
import { type Environment, mergeEnvironment } from './variables.ts';

/** Where the files of a hub are. Paths in the working folder are relative, as messages show them. */
export type HubLayout = {
  /**
   * `folder`: the working folder has a hub of its own. `user`: the hub of this user. `running`: the files of a hub that
   * runs elsewhere, for commands.
   */
  readonly kind: 'folder' | 'user' | 'running';
  readonly configFile: string;
  /** True if MCP_SERVERS_CONFIG names the config file. */
  readonly isConfigNamed: boolean;
  readonly rulesFile: string;
  readonly dataDir: string;
  /** True if DATA_DIR names the data folder. */
  readonly isDataNamed: boolean;
  /** The file with variables of the hub. It may not exist. */
  readonly dotenvFile: string;
  /** A config file of the working folder that is not used, because another one comes first. */
  readonly passedOver?: string;
};

type LayoutOptions = {
  /** The environment of the process. */
  readonly env: Environment;
  /** Text of `.env` in the working folder; empty if there is none. */
  readonly dotenv: string;
  /** The working folder, absolute. */
  readonly folder: string;
  /** True in the folder of the hub's own code: a clone, whose `.env` is for this hub. */
  readonly isInstallation: boolean;
  readonly user: UserFolders;
};

const yamlFiles = ['./hub.yaml', './hub.yml'];
/** Exists in each data folder that a hub has used. */
const hubIdFile = 'hub-id';

/**
 * Finds the files of the hub for this working folder. A folder with `configs/mcp-servers.json`, `hub.yaml` or the data of a
 * hub has a hub of its own; otherwise it is the hub of this user. MCP_SERVERS_CONFIG and DATA_DIR come first.
 */
export async function findLayout(options: LayoutOptions): Promise<HubLayout> {
  const { env, dotenv, folder, isInstallation, user } = options;
  const [here, ...others] = await findExisting(folder, [defaultServersFile, ...yamlFiles]);
  const merged = mergeEnvironment(env, dotenv);
  const given = merged['MCP_SERVERS_CONFIG']?.trim() || undefined;
  // The default of earlier versions, which a .env may still spell out.
  const named = given === defaultServersFile ? undefined : given;
  const dataDir = merged['DATA_DIR']?.trim() || undefined;
  const isUsers = folder === user.config && !isContainer(env);
  const isOwn =
    !isUsers &&
    (here !== undefined ||
      given === defaultServersFile ||
      isContainer(env) ||
      (await findExisting(folder, [join(defaultDataDir, hubIdFile)])).length > 0);
  const usesDotenv = isOwn || named !== undefined || dataDir !== undefined;
  const dotenvFile = usesDotenv || (isInstallation && dotenv !== '') ? '.env' : undefined;
  const usual = isOwn
    ? inFolder(given === defaultServersFile ? given : here)
    : await inUserFolders(user);
  const passedOver = isOwn && named === undefined ? others[0] : undefined;
  return {
    ...usual,
    configFile: named ?? usual.configFile,
    isConfigNamed: named !== undefined,
    dataDir: dataDir ?? usual.dataDir,
    isDataNamed: dataDir !== undefined,
    dotenvFile: dotenvFile ?? usual.dotenvFile,
    ...(passedOver !== undefined && { passedOver }),
  };
}

const inFolder = (configFile = defaultServersFile) =>
  ({
    kind: 'folder',
    configFile,
    rulesFile: defaultRulesFile,
    dataDir: defaultDataDir,
    dotenvFile: '.env',
  }) as const;

async function inUserFolders({ config, data }: UserFolders) {
  const [yaml] = await findExisting(config, yamlFiles);
  const usual = 'mcp-servers.json';
  const [json] = await findExisting(config, [usual]);
  return {
    kind: 'user',
    configFile: join(config, json ?? yaml ?? usual),
    rulesFile: join(config, 'enhancement-rules.json'),
    dataDir: data,
    dotenvFile: join(config, '.env'),
  } as const;
}

/** The environment with the variables that name the files of a layout. */
export function withLayout(env: Environment, layout: HubLayout): Environment {
  const { configFile, dataDir, rulesFile } = layout;
  return {
    ...env,
    MCP_SERVERS_CONFIG: configFile,
    DATA_DIR: dataDir,
    ENHANCEMENT_RULES_CONFIG: env['ENHANCEMENT_RULES_CONFIG']?.trim() || rulesFile,
  };
}

/** True for a hub in a container, whose folder has the files that compose mounts. */
export const isContainer = (env: Environment): boolean =>
  ['1', 'true'].includes(env['AGENTHUB_IN_CONTAINER']?.trim().toLowerCase() ?? '');

/** Returns the given files that exist in a folder, in the same order. */
async function findExisting(folder: string, files: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(
    files.map(file =>
      access(join(folder, file)).then(
        () => true,
        () => false,
      ),
    ),
  );
  return files.filter((_, index) => found[index]);
}
