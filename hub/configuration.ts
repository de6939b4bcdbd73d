import {
  type Config,
  type ConfigSource,
  type LoadOptions,
  type Reading,
  type Settings,
  createConfigEditor,
  createConfigSource,
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
  /** All servers of the file as it was read last, whatever their tags. */
  readonly names: () => readonly string[];
};

/** The config in force: read from files, applied to the servers, and changed by the API. */
export type Configuration = {
  readonly source: ConfigSource;
  readonly control: ConfigControl;
  readonly editing: Pick<InstallsNeeds, 'check' | 'add' | 'remove' | 'names'>;
};

type Needs = {
  readonly servers: Pick<Servers, 'apply'>;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Log;
};

/** Joins the files of the config to the servers. */
export function createConfiguration(files: ConfigFiles, needs: Needs): Configuration {
  const { servers, log } = needs;
  const source = createConfigSource(files.first, { ...needs, read: files.read });
  const editor = createConfigEditor({ readOptions: files.readOptions, writeWhole });
  /** What came of the newest config. */
  let applied: Promise<Applied | undefined> = Promise.resolve(undefined);

  source.changed(({ after, difference }) => {
    applied = servers.apply(after, difference).then(
      done => {
        const { failed, ...names } = done;
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
  });

  async function reload(): Promise<JsonObject> {
    const outcome = await source.reload();
    if (outcome.kind === 'refused') throw outcome.error;
    const restart = settingsToRestartFor(needs.settings, await files.settings());
    const waiting = restart.length > 0 ? { settings_that_need_a_restart: restart } : {};
    if (outcome.kind === 'unchanged') return { status: 'unchanged', ...waiting };
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
      unchanged: outcome.difference.unchanged.length,
      ...waiting,
    };
  }

  return {
    source,
    control: {
      reload,
      status: () => ({
        loadedAt: source.status.loadedAt,
        error: source.status.error?.message,
      }),
    },
    editing: {
      check: (name, entry) => editor.preview(files.file, name, entry),
      async add(name, entry) {
        await editor.addServer(files.file, name, entry);
        await reload();
      },
      async remove(name) {
        await editor.removeServer(files.file, name);
        await reload();
      },
      names: files.names,
    },
  };
}
