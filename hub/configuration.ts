import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  type Config,
  type ConfigSource,
  type LoadOptions,
  type Reading,
  type ServerConfig,
  type Settings,
  type ShippedFiles,
  createConfigEditor,
  createConfigSource,
  requireTag,
  settingsToRestartFor,
} from '#config';
import { type Clock, type JsonObject, type Log, messageOf } from '#core';
import type { ConfigControl } from '#http';
import type { Applied, InstallsNeeds, Servers } from '#servers';
import { writeWhole } from '#store';

/** Where the config comes from, and how it is read again. */
export type ConfigFiles = {
  readonly file: string;
  /** What was read first, and is valid. */
  readonly first: Extract<Reading, { readonly config: Config }>;
  /** Reads it anew, as far as it concerns this hub: with `--tags` only some of its servers. */
  readonly read: () => Promise<Reading>;
  /** The environment of the moment. */
  readonly readOptions: () => Promise<LoadOptions>;
  /** The settings of the moment, as environment and files say. Throws HubError. */
  readonly settings: () => Promise<Settings>;
  /** How its files are read, where that is not as they are. */
  readonly shipped?: ShippedFiles;
  /** All servers of the file as it was read last, whatever their tags. */
  readonly servers: () => readonly ServerConfig[];
  /** Where there are any, only servers that have one of them are of concern. */
  readonly tags?: readonly string[] | undefined;
};

/** The config in force: read from files, applied to the servers, and changed by the API. */
export type Configuration = {
  readonly source: ConfigSource;
  readonly control: ConfigControl;
  readonly editing: Pick<InstallsNeeds, 'check' | 'add' | 'remove' | 'configs'>;
};

type Needs = {
  readonly servers: Pick<Servers, 'all' | 'apply'>;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Log;
};

/** Joins the files of the config to the servers. */
export function createConfiguration(files: ConfigFiles, needs: Needs): Configuration {
  const { servers, log } = needs;
  const { read, shipped } = files;
  const source = createConfigSource(files.first, { ...needs, read, readText: shipped?.readText });
  const editor = createConfigEditor({
    readOptions: files.readOptions,
    readBytes: shipped?.readBytes,
    async writeWhole(file, text, check) {
      // What is shipped is changed in the working folder, which may have no folder for it yet.
      await mkdir(dirname(file), { recursive: true });
      await writeWhole(file, text, check);
    },
  });
  /** What came of the newest config, and of the newest of those that are applied by now. */
  let applied: Promise<Applied | undefined> = Promise.resolve(undefined);
  let over = applied;

  const apply = (config: Config) => {
    const own = servers.apply(config).then(
      done => {
        const { failed, unchanged: _, ...names } = done;
        log.info(names, 'the config was changed');
        for (const { server, error } of failed)
          log.error(
            { server, error: error.message },
            'the new entry did not come up: the server stays as it was',
          );
        return done;
      },
      (error: unknown) => {
        log.error({ error: messageOf(error) }, 'a new config could not be applied');
        return undefined;
      },
    );
    applied = own;
    void own.then(() => {
      over = own;
    });
  };
  source.changed(({ after }) => apply(after));
  /** Servers whose entry in the files did not come up: the one before it goes on. */
  const refused = () =>
    servers.all.flatMap(({ config: { name }, refusedEntry }) =>
      refusedEntry ? `the new entry of ${name} did not come up: ${refusedEntry.error.message}` : [],
    );

  async function reload(): Promise<JsonObject> {
    const known = over;
    const outcome = await source.reload();
    if (outcome.kind === 'refused') throw outcome.error;
    const restart = settingsToRestartFor(needs.settings, await files.settings());
    const waiting = restart.length > 0 ? { settings_that_need_a_restart: restart } : {};
    // What was under way then, or has come since, has an outcome that nobody was told.
    if (outcome.kind === 'unchanged' && applied === known) {
      if (refused().length === 0) return { status: 'unchanged', ...waiting };
      apply(source.current);
    }
    const done = await applied;
    return {
      status: 'changed',
      added: done?.added ?? [],
      removed: done?.removed ?? [],
      changed: done?.changed ?? [],
      failed: (done?.failed ?? []).map(({ server, error }) => ({
        server,
        code: error.code,
        message: error.message,
      })),
      unchanged: done?.unchanged ?? 0,
      ...waiting,
    };
  }

  return {
    source,
    control: {
      reload,
      status: () => ({
        loadedAt: source.status.loadedAt,
        error: source.status.error?.message ?? (refused().join('. ') || undefined),
      }),
    },
    editing: {
      async check(name, entry) {
        const server = await editor.preview(files.file, name, entry);
        if (files.tags) requireTag(server, files.tags);
        return server;
      },
      async add(name, entry) {
        await editor.addServer(files.file, name, entry);
        await reload();
      },
      async remove(name) {
        await editor.removeServer(files.file, name);
        await reload();
      },
      configs: files.servers,
    },
  };
}
