import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readTokenNames } from '#access';
import {
  type Config,
  type LoadOptions,
  type NextTools,
  type ConfigReading,
  type ServerConfig,
  type Settings,
  type ShippedFiles,
  changedKeysOf,
  createBuildWatch,
  createConfigEditor,
  createConfigSource,
  createProcessGate,
  mountWarnings,
  requireTag,
  settingsToRestartFor,
  warningsOf,
} from '#config';
import { HubError, type JsonObject, type Service, messageOf, shown } from '#core';
import type { ConfigControl } from '#http';
import type { InstallsNeeds, UpgradesNeeds } from '#installs';
import type { Applied, Servers } from '#servers';
import type { SecretStatus } from '#secrets';
import { writeWhole } from '#store';
import type { System } from './system.ts';

export type ConfigFiles = {
  readonly file: string;
  /** The default file of the prompt rules, if no setting names one. It may be missing. */
  readonly usualRulesFile?: string;
  /** The valid initial config. */
  readonly first: Extract<ConfigReading, { readonly config: Config }>;
  /** Reads the config again. With `--tags`, only servers with one of the tags. */
  readonly read: () => Promise<ConfigReading>;
  /** Reads the environment and the options for reading a config. */
  readonly readOptions: () => Promise<LoadOptions>;
  /** Reads the current settings, from environment and files. Rejects with HubError. */
  readonly settings: () => Promise<Settings>;
  /** Default files that replace missing config files. */
  readonly shipped?: ShippedFiles;
  /** Returns all servers of the config that was read last, with any tags. */
  readonly servers: () => readonly ServerConfig[];
  /** Lists the secrets that are set or used by the config that was read last, without their values. */
  readonly listSecrets: () => Promise<readonly SecretStatus[]>;
  /** Returns the stored secrets that nothing uses once this server is removed. Never rejects. */
  readonly secretsLeftBy: InstallsNeeds['configFile']['secretsLeftBy'];
  /** If not empty, only servers with one of these tags are used. */
  readonly tags?: readonly string[] | undefined;
};

type Needs = Pick<System, 'clock' | 'log'> & {
  readonly servers: Pick<Servers, 'all' | 'apply'>;
  readonly settings: Settings;
};

type ToolFile = {
  /** Writes to the config file which tools a server offers. Resolves when the change is active. */
  readonly changeTools: (server: string, next: NextTools) => Promise<void>;
};

const restartMessage = 'settings have changed that take effect after a restart of the hub';

const nothingApplied: Applied = { added: [], removed: [], changed: [], failed: [], unchanged: 0 };

/** Logs warnings about a config with which the hub starts. */
export async function warnOf(
  config: Config,
  { settings, log }: Pick<Needs, 'log'> & { readonly settings: Pick<Settings, 'dataDir'> },
): Promise<void> {
  const ofConfig = warningsOf(config, await readTokenNames(settings.dataDir));
  for (const warning of [...ofConfig, ...(await mountWarnings(config.servers))])
    log.warn({}, warning);
}

/** Manages the active config: reads it from files, applies it to the servers, and changes it for the API. */
export function createConfiguration(files: ConfigFiles, needs: Needs) {
  const { servers, log } = needs;
  const { shipped } = files;
  const gate = createProcessGate(files.first.config);
  /** Settings in the files that differ from those of this run. */
  let toRestart: readonly string[] = [];
  /** Names of the clients for which the hub had made a token when the files were read. */
  let tokenNames: readonly string[] = [];
  const readHeld = async (): Promise<ConfigReading> => {
    const reading = await files.read();
    if (reading.error) return reading;
    tokenNames = await readTokenNames(needs.settings.dataDir);
    const before = toRestart;
    try {
      toRestart = settingsToRestartFor(needs.settings, await files.settings());
    } catch (error) {
      if (!(error instanceof HubError)) throw error;
      return { files: reading.files, error };
    }
    if (toRestart.some(name => !before.includes(name)))
      log.warn({ settings: toRestart }, restartMessage);
    return { ...reading, config: gate.hold(reading.config) };
  };
  const source = createConfigSource(files.first, {
    ...needs,
    read: readHeld,
    readText: shipped?.readText,
  });
  /** Returns the config entries that wait for a confirmation by a person. */
  const held = () => heldIn(source.current);
  const builds = createBuildWatch({ ...needs, onChange: () => source.reload() });
  const editor = createConfigEditor({
    readOptions: files.readOptions,
    readBytes: shipped?.readBytes,
    async writeWhole(file, text, check) {
      // A change of the default config is written to the working folder, where the config folder may be missing.
      await mkdir(dirname(file), { recursive: true });
      await writeWhole(file, text, check);
    },
  });
  /** Result of applying the newest config, and the last result that is complete. */
  let applied: Promise<Applied | undefined> = Promise.resolve(undefined);
  let over = applied;

  /** Applies a config to the servers. `keys`: changed keys besides those of servers. Never rejects. */
  async function applyTo(config: Config, keys: readonly string[]): Promise<Applied | undefined> {
    try {
      const done = await servers.apply(config);
      const { failed, unchanged: _, ...names } = done;
      log.info({ ...names, keys }, 'the config was changed');
      const stays = 'the server did not start with the new entry, and stays as it was';
      for (const { server, error } of failed) log.error({ server, error: error.message }, stays);
      return done;
    } catch (error) {
      log.error({ error: messageOf(error) }, 'a new config could not be applied');
      return undefined;
    }
  }

  function apply(config: Config, keys: readonly string[] = []): void {
    const own = applyTo(config, keys);
    applied = own;
    void own.then(() => {
      over = own;
    });
  }

  source.changed(({ before, after, difference }) => {
    const known = heldIn(before).map(one => one.message);
    for (const { message, ...about } of heldIn(after))
      if (!known.includes(message)) log.warn(about, message);
    const earlier = warningsOf(before, tokenNames);
    for (const warning of warningsOf(after, tokenNames))
      if (!earlier.includes(warning)) log.warn({}, warning);
    apply(after, changedKeysOf(difference));
    builds.follow(after);
  });
  /** Returns a message for each server whose new entry failed to start, so that the previous one is still running. */
  const refused = () =>
    servers.all.flatMap(({ config: { name }, refusedEntry }) =>
      refusedEntry ? `${name} did not start with the new entry: ${refusedEntry.error.message}` : [],
    );

  async function allow(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    // Reads the files to find the entries that wait. They are applied only after they are allowed.
    await readHeld();
    const { waiting } = gate;
    const other = names.find(name => !gate.allow(name));
    if (other === undefined) return;
    throw new HubError(
      'HUB_REQUEST_INVALID',
      `allow: no entry of ${shown(other)} waits. Those that wait: ${waiting.join(', ') || 'none'}`,
    );
  }

  async function reload(allowed: readonly string[] = []): Promise<JsonObject> {
    await allow(allowed);
    const known = over;
    const outcome = await source.reload();
    if (outcome.kind === 'refused') throw outcome.error;
    const waiting = {
      ...(toRestart.length > 0 && { settings_that_need_a_restart: toRestart }),
      ...(held().length > 0 && { waiting: held() }),
    };
    // The result of a change that was in progress, or has arrived since, was not reported yet.
    if (outcome.kind === 'unchanged' && applied === known) {
      if (refused().length === 0) return { status: 'unchanged', ...waiting };
      apply(source.current);
    }
    const done = (await applied) ?? nothingApplied;
    return {
      status: 'changed',
      ...done,
      failed: done.failed.map(({ server, error: { code, message } }) => ({
        server,
        code,
        message,
      })),
      ...waiting,
    };
  }

  const control: ConfigControl = {
    reload,
    secrets: files.listSecrets,
    status() {
      const { loadedAt, error } = source.status;
      const waiting = [...refused(), ...held().map(({ message }) => message)];
      const fault = error
        ? `the last good one is in force: ${error.message}`
        : waiting.length > 0 && `the rest of it is in force: ${waiting.join('. ')}`;
      return { loadedAt, error: fault || undefined };
    },
  };
  /** Changes the config file and applies it. Rejects if the settings in it are invalid: nothing would be applied. */
  async function change(edit: () => Promise<unknown>): Promise<void> {
    await files.settings();
    await edit();
    await reload();
  }
  const configFile: InstallsNeeds['configFile'] & UpgradesNeeds['configFile'] & ToolFile = {
    async check(name, entry) {
      await files.settings();
      const server = await editor.preview(files.file, name, entry);
      if (files.tags) requireTag(server, files.tags);
      return server;
    },
    async add(name, entry) {
      // The person who installs the server has confirmed it by name.
      gate.accept(await editor.preview(files.file, name, entry));
      await editor.addServer(files.file, name, entry);
      await reload();
    },
    remove: name => change(() => editor.removeServer(files.file, name)),
    changeTools: (name, next) => change(() => editor.changeTools(files.file, name, next)),
    configs: files.servers,
    secretsLeftBy: files.secretsLeftBy,
    find: name => editor.findEntry(files.file, name),
    preview: (name, values) => editor.previewValues(files.file, name, values),
    async set(name, values) {
      await files.settings();
      const entry = (await editor.findEntry(files.file, name)) ?? {};
      const before = Object.keys(values).flatMap(key => {
        const value = entry[key];
        return value === undefined ? [] : [[key, value] as const];
      });
      // The person who changes the version has confirmed the new program.
      gate.accept(await editor.previewValues(files.file, name, values));
      await editor.setValues(files.file, name, values);
      await reload();
      const why = servers.all.find(({ config }) => config.name === name)?.refusedEntry?.error;
      if (!why) return;
      await editor.setValues(files.file, name, Object.fromEntries(before));
      await reload();
      throw new HubError(
        'HUB_SERVER_START_FAILED',
        `${name} did not start with the new entry, and runs with the old one: ${why.message}`,
        { cause: why, data: { ...why.data, server: name } },
      );
    },
  };
  const service: Service = {
    async start(signal) {
      await source.start(signal);
      builds.follow(source.current);
    },
    async stop() {
      await builds[Symbol.asyncDispose]();
      await source.stop();
    },
  };
  return { source, service, control, configFile };
}

/** Returns the servers and clients of a config that wait for a confirmation, with the reasons. */
const heldIn = ({ servers, clients = [] }: Config) => [
  ...servers.flatMap(({ name: server, heldBack }) =>
    heldBack === undefined ? [] : [{ server, message: heldBack }],
  ),
  ...clients.flatMap(({ name: client, heldBack }) =>
    heldBack === undefined ? [] : [{ client, message: heldBack }],
  ),
];
