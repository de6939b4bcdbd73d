import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { defaultRulesFile } from './backends.ts';
import { defaultDataDir, defaultServersFile } from './settings.ts';
import type { UserFolders } from './user-folders.ts';
import { type Environment, mergeEnvironment } from './variables.ts';

/** Paths of a hub's files. Paths in the working folder are relative, as messages show them. */
export type HubLayout = {
  /**
   * `folder`: a hub of the working folder. `user`: the hub of this user. `running`: a hub that runs elsewhere, whose
   * files commands use.
   */
  readonly kind: 'folder' | 'user' | 'running';
  readonly configFile: string;
  /** True if MCP_SERVERS_CONFIG names the config file. */
  readonly isConfigNamed: boolean;
  readonly rulesFile: string;
  readonly dataDir: string;
  /** True if DATA_DIR names the data folder. */
  readonly isDataNamed: boolean;
  /** Path of the hub's `.env` file, which may not exist. */
  readonly dotenvFile: string;
  /** Config file in the working folder that is ignored because another one takes precedence. */
  readonly passedOver?: string;
};

type LayoutOptions = {
  /** The environment of the process. */
  readonly env: Environment;
  /** Text of `.env` in the working folder; empty if there is none. */
  readonly dotenv: string;
  /** Absolute path of the working folder. */
  readonly folder: string;
  /** True if the working folder contains the hub's own code (a git clone), whose `.env` is for this hub. */
  readonly isInstallation: boolean;
  readonly user: UserFolders;
};

const yamlFiles = ['./hub.yaml', './hub.yml'];
/** File that exists in each data folder that a hub has used. */
const hubIdFile = 'hub-id';

/**
 * Finds the files of the hub for the working folder. A folder with `configs/mcp-servers.json`, `hub.yaml` or the data
 * of a hub has a hub of its own; all other folders use the hub of the user. MCP_SERVERS_CONFIG and DATA_DIR take
 * precedence.
 */
export function findLayout(options: LayoutOptions): HubLayout {
  const { env, dotenv, folder, isInstallation, user } = options;
  const [here, ...others] = findExisting(folder, [defaultServersFile, ...yamlFiles]);
  const merged = mergeEnvironment(env, dotenv);
  const given = merged['MCP_SERVERS_CONFIG']?.trim() || undefined;
  // A `.env` may still contain the default path of earlier versions.
  const named = given === defaultServersFile ? undefined : given;
  const dataDir = merged['DATA_DIR']?.trim() || undefined;
  const isUsers = folder === user.config && !isContainer(env);
  const isOwn =
    !isUsers &&
    (here !== undefined ||
      given === defaultServersFile ||
      isContainer(env) ||
      findExisting(folder, [join(defaultDataDir, hubIdFile)]).length > 0);
  const usesDotenv = isOwn || named !== undefined || dataDir !== undefined;
  const dotenvFile = usesDotenv || (isInstallation && dotenv !== '') ? '.env' : undefined;
  const usual = isOwn ? inFolder(given === defaultServersFile ? given : here) : inUserFolders(user);
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

function inUserFolders({ config, data }: UserFolders) {
  const [yaml] = findExisting(config, yamlFiles);
  const usual = 'mcp-servers.json';
  const [json] = findExisting(config, [usual]);
  return {
    kind: 'user',
    configFile: join(config, json ?? yaml ?? usual),
    rulesFile: join(config, 'enhancement-rules.json'),
    dataDir: data,
    dotenvFile: join(config, '.env'),
  } as const;
}

/** Returns the environment with the variables that name the files of a layout. */
export function withLayout(env: Environment, layout: HubLayout): Environment {
  const { configFile, dataDir, rulesFile } = layout;
  return {
    ...env,
    MCP_SERVERS_CONFIG: configFile,
    DATA_DIR: dataDir,
    ENHANCEMENT_RULES_CONFIG: env['ENHANCEMENT_RULES_CONFIG']?.trim() || rulesFile,
  };
}

/** True for a hub in a container. Its folder has the files that Docker Compose mounts. */
export const isContainer = (env: Environment): boolean =>
  ['1', 'true'].includes(env['AGENTHUB_IN_CONTAINER']?.trim().toLowerCase() ?? '');

/** Returns the given files that exist in a folder, in the same order. */
const findExisting = (folder: string, files: readonly string[]) =>
  files.filter(file => existsSync(join(folder, file)));
