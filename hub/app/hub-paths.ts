import { join, resolve } from 'node:path';
import {
  type Environment,
  type HubLayout,
  type Settings,
  encodingFault,
  findLayout,
  findUserFolders,
  isContainer,
  mergeEnvironment,
  utf16Fault,
  withLayout,
  writeFirstConfig,
} from '#config';
import { HubError, type Log, errorCodeOf, messageOf, systemClock } from '#core';
import { readDotenvFile } from './dotenv-file.ts';

type HubPathsOptions = {
  readonly env: NodeJS.ProcessEnv;
  readonly platform: NodeJS.Platform;
  readonly home: string;
  /** The working folder, absolute. */
  readonly folder: string;
  /** The folder of the hub's own code. */
  readonly root: string;
  /**
   * `own`: the hub of this working folder, for a hub that starts. `running`: the same, but if neither this folder nor
   * the user's folders have a running hub, the only other running hub of the user. `trusted`: like `running`, but
   * ignores a `.env` in the working folder.
   */
  readonly whose: 'own' | 'running' | 'trusted';
  /** Aborts when this process ends. */
  readonly signal: AbortSignal;
};

/** Result of the check for a config file at a first start. */
type FirstConfig =
  | { readonly kind: 'kept' | 'written' }
  | { readonly kind: 'failed'; readonly reason: string };

type NotedSettings = Pick<Settings, 'dataDir' | 'rulesFile'>;

export type HubPaths = ReturnType<typeof createHubPaths>;

/** Finds the files of the hub that this process works for, at the first use and then for the whole process. */
export function createHubPaths(options: HubPathsOptions) {
  const { env, root, folder, whose, signal } = options;
  const user = findUserFolders(options);
  const shipped = {
    configFile: join(root, 'configs', 'mcp-servers.default.json'),
    rulesFile: join(root, 'configs', 'enhancement-rules.default.json'),
    schemaFile: join(root, 'configs', 'hub.schema.json'),
  };
  let found: Promise<HubLayout> | undefined;

  async function find(): Promise<HubLayout> {
    const bytes =
      whose === 'trusted' ? empty : await readIfExists(join(folder, '.env'), '.env', signal);
    const dotenv = bytes.toString();
    const isInstallation = folder === root;
    const layout = findLayout({ env, dotenv, folder, isInstallation, user });
    // A `.env` of another program may have any encoding. One in UTF-16 cannot be read, so it may be the hub's.
    const fault = layout.dotenvFile === '.env' ? encodingFault(bytes) : utf16Fault(dotenv);
    if (fault !== undefined) throw wrongEncoding('.env', fault);
    return whose === 'own' ? layout : await adopt(layout);
  }

  /**
   * Returns the layout of the running hub with this data folder, which may have another config file. If it does not
   * run, and no file or setting names it: the layout of the only other running hub.
   */
  async function adopt(layout: HubLayout): Promise<HubLayout> {
    const running = (await findKnownHubs()).filter(hub => hub.isRunning);
    const isFixed = layout.kind === 'folder' || layout.isDataNamed || layout.isConfigNamed;
    const same = running.find(({ dataDir }) => dataDir === resolve(folder, layout.dataDir));
    const hub = same ?? (isFixed || running.length > 1 ? undefined : running[0]);
    if (!hub) return layout;
    const { configFile, dataDir, rulesFile, dotenvFile } = hub;
    // Keeps relative paths of the working folder, because messages show them.
    const isAsIs = layout.isConfigNamed || configFile === resolve(folder, layout.configFile);
    if (same) return isAsIs ? layout : { ...layout, configFile };
    return { ...layout, kind: 'running', configFile, dataDir, rulesFile, dotenvFile };
  }

  async function findKnownHubs() {
    const store = await import('#store');
    return await store.findKnownHubs(user.state);
  }

  const layout = async () => await (found ??= find());

  async function readDotenv(): Promise<string> {
    const { dotenvFile } = await layout();
    if (whose === 'trusted' && dotenvFile === '.env') return '';
    return await readText(resolve(folder, dotenvFile), dotenvFile, signal);
  }

  return {
    user,
    shipped,
    layout,
    isInContainer: isContainer(env),
    readDotenv,
    /** Returns the environment of the process merged over `.env`, with the variables that name the hub's files. */
    readEnvironment: async (): Promise<Environment> =>
      withLayout(mergeEnvironment(env, await readDotenv()), await layout()),
    /** Finds the hubs of this user, running or not. */
    findKnownHubs,
    /** Returns the data folders of the hubs that a command may mean, starting with that of the layout. */
    async dataFolders(): Promise<readonly string[]> {
      const { kind, dataDir, isDataNamed } = await layout();
      if (kind === 'folder' || isDataNamed) return [dataDir];
      const running = (await findKnownHubs()).filter(hub => hub.running);
      return [...new Set([dataDir, ...running.map(hub => hub.dataDir)])];
    },
    /** Writes the config file at a first start, unless the user named one. Never rejects. */
    async writeFirst(named: string | undefined): Promise<FirstConfig> {
      const { configFile, isConfigNamed, kind } = await layout();
      if (named !== undefined || isConfigNamed || isContainer(env)) return { kind: 'kept' };
      const file = resolve(folder, configFile);
      try {
        const isNew = await writeFirstConfig(file, shipped, kind === 'user');
        return { kind: isNew ? 'written' : 'kept' };
      } catch (error) {
        return { kind: 'failed', reason: messageOf(error) };
      }
    },
    /** Logs the result of a first start, and config files of the working folder that are not used. */
    async report(first: FirstConfig, log: Log): Promise<void> {
      const { configFile, passedOver } = await layout();
      if (first.kind === 'written')
        log.info(
          { file: configFile },
          'wrote the config file, with the servers that come with AgentHub. Edit it, or run "agenthub add"',
        );
      if (first.kind === 'failed')
        log.warn(
          { file: configFile, reason: first.reason },
          'the config file cannot be written: the servers that come with AgentHub run until there is one',
        );
      if (passedOver !== undefined)
        log.warn({ file: passedOver }, passedOverBy(passedOver, configFile));
    },
    /**
     * Records where the hub has its files. Never rejects: without the record, commands find the hub only from its
     * folder.
     */
    async note(configFile: string, settings: NotedSettings, log: Log): Promise<void> {
      if (isContainer(env)) return;
      const { noteHub } = await import('#store');
      const absolute = (file: string) => resolve(folder, file);
      try {
        await noteHub(user.state, {
          dataDir: absolute(settings.dataDir),
          configFile: absolute(configFile),
          rulesFile: absolute(settings.rulesFile),
          dotenvFile: absolute((await layout()).dotenvFile),
        });
      } catch (error) {
        log.warn(
          { folder: user.state, reason: messageOf(error) },
          'the note for commands cannot be written: they find this hub only in its working folder',
        );
      }
    },
    /** Rejects with HUB_DATA_LOCKED while another hub of this user runs with a copy of the data folder. */
    async requireNoCopy(dataDir: string, hubId: string): Promise<void> {
      const { findRunningCopy } = await import('#store');
      const copy = await findRunningCopy(user.state, { dataDir: resolve(folder, dataDir), hubId });
      if (copy !== undefined)
        throw new HubError(
          'HUB_DATA_LOCKED',
          `DATA_DIR: ${JSON.stringify(dataDir)} and ${JSON.stringify(copy)} are copies of one data folder, and a hub is running with the other one: both would use the same containers. Stop that hub, or remove ${join(dataDir, 'hub-id')} and set HUB_NAME and ROUTER_PORT, so that this one has containers of its own`,
        );
    },
  };
}

/** Returns a sentence about a config file of the working folder that is not used because of another config file. */
const passedOverBy = (file: string, used: string) =>
  `${file} is not used, because ${used} comes first. Remove one of them, or start the hub with --config ${file}`;

const empty = Buffer.alloc(0);

/** Reads a `.env`; no bytes if it does not exist. */
async function readIfExists(file: string, shown: string, signal: AbortSignal): Promise<Buffer> {
  return await readDotenvFile(file, { clock: systemClock, signal }).catch((error: unknown) => {
    signal.throwIfAborted();
    if (errorCodeOf(error) === 'ENOENT') return empty;
    const why =
      errorCodeOf(error) === undefined
        ? messageOf(error)
        : `the file cannot be read (${messageOf(error)}). Let this user read it, or remove it`;
    throw new HubError('HUB_CONFIG_INVALID', `${shown}: ${why}`, { cause: error });
  });
}

async function readText(file: string, shown: string, signal: AbortSignal): Promise<string> {
  const bytes = await readIfExists(file, shown, signal);
  const fault = encodingFault(bytes);
  if (fault !== undefined) throw wrongEncoding(shown, fault);
  return bytes.toString();
}

const wrongEncoding = (shown: string, fault: string) =>
  new HubError('HUB_CONFIG_INVALID', `${shown}: ${fault}`);
