import { readFile, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type ConfigEditor, type LoadOptions, createConfigEditor, loadConfig } from '#config';
import { HubError, type JsonObject } from '#core';
import { type ClientMachine, type ClientName, allConfigFiles } from './client/client.ts';
import { tokenNameOf, tokensOfHub } from './client-token.ts';
import {
  type FileChange,
  type WriteWhole,
  exists,
  findPath,
  readExactly,
  writeBack,
  writeWithBackup,
} from './client/file.ts';
import {
  type ConnectPlan,
  type ConnectTarget,
  planConnect,
  planDisconnect,
  serversIn,
  sourceOf,
} from './connect-plan.ts';
import { type ImportGrants, fitEntry } from './fit-entry.ts';
import { type FoundServers, type ImportSelection, findServers } from './find-servers.ts';
import { type HubAddress, pointsToHub } from './hub-entry.ts';
import { type ImportItem, type ImportPlan, planImport } from './import-plan.ts';
import { createImportRecords } from './import-record.ts';
import { type Variable, hasKey, valuesOf, withVariables } from './secrets.ts';
import { type Replacement, hasHub, removeServers } from './remove-servers.ts';
import { settle } from './settle.ts';
import { type IsAllowed, tighten } from './tighten.ts';
import { toSecrets } from './to-secrets.ts';

/** Paths of the hub's config file and its `.env` file. */
export type HubFiles = { readonly config: string; readonly dotenv: string };

type HubUrl = Pick<HubAddress, 'url'>;

type ClientsNeeds = {
  readonly machine: ClientMachine;
  readonly writeWhole: WriteWhole;
  /** Returns the options for loading the hub's config, with variables from the environment and `.env`. */
  readonly readOptions: () => Promise<LoadOptions>;
  /** Reads files for previews. May read a shipped config in place of a missing one. */
  readonly readBytes?: (path: string) => Promise<Buffer>;
  /** Returns the absolute path of the folder for undo records. */
  readonly recordsFolder: () => Promise<string>;
  readonly now: () => number;
  /** Opens the secrets of the hub. */
  readonly openSecrets: () => Promise<SecretStore>;
};

type SecretStore = {
  set(name: string, value: string): Promise<unknown>;
  remove(name: string): Promise<boolean>;
};

/**
 * Reads and changes the files of MCP clients on this machine. Methods named `plan` write nothing. All methods reject
 * with HubError.
 */
export type Clients = ReturnType<typeof createClients>;

export function createClients({
  machine,
  writeWhole,
  readOptions,
  readBytes,
  recordsFolder: folder,
  now,
  openSecrets,
}: ClientsNeeds) {
  const records = createImportRecords({ folder, writeWhole, now });
  const withVariablesSet =
    (variables: readonly Variable[], secrets: readonly Variable[] = []) =>
    async (): Promise<LoadOptions> => {
      const options = await readOptions();
      return {
        ...options,
        env: { ...options.env, ...valuesOf(variables) },
        secrets: async names => {
          const stored = (await options.secrets?.(names)) ?? new Map();
          return new Map([
            ...stored,
            ...secrets.map(({ name, value }) => [name, { value }] as const),
          ]);
        },
      };
    };

  async function findSecret(name: string): Promise<string | undefined> {
    const reading = (await (await readOptions()).secrets?.([name]))?.get(name);
    if (reading && 'fault' in reading) throw new HubError('HUB_CONFIG_INVALID', reading.fault);
    return reading?.value;
  }

  const editorWith = (variables: readonly Variable[]): ConfigEditor =>
    createConfigEditor({
      readOptions: withVariablesSet(variables),
      writeWhole,
      ...(readBytes && { readBytes }),
    });

  /** Computes the new texts of the config and `.env` without writing, so that errors occur before any write. */
  async function changesOf(
    { items, variables, secrets }: ImportPlan,
    files: HubFiles,
  ): Promise<readonly FileChange[]> {
    const config = await readExactly(files.config);
    let text = config ?? '';
    const editor = createConfigEditor({
      readOptions: withVariablesSet(variables, secrets),
      readBytes: async path =>
        resolve(path) === resolve(files.config) ? Buffer.from(text) : await readFile(path),
      writeWhole: async (_, edited, check) => {
        await check();
        text = edited;
      },
    });
    for (const item of items)
      if (item.action === 'add') await editor.addServer(files.config, item.name, item.entry);
    const changes = variables.length > 0 ? [await dotenvChange(files.dotenv, variables)] : [];
    return text === config
      ? changes
      : [...changes, { file: resolve(files.config), before: config, after: text }];
  }

  async function stateOf(
    target: Omit<ConnectTarget, 'name'>,
    hub: HubUrl,
  ): Promise<'absent' | 'unconnected' | 'connected' | 'unreadable'> {
    try {
      const source = await sourceOf(target, machine);
      if (source.text === undefined) return 'absent';
      const servers = Object.values(await serversIn(source, target.client));
      return servers.some(entry => pointsToHub(entry, hub)) ? 'connected' : 'unconnected';
    } catch (error) {
      if (error instanceof HubError) return 'unreadable';
      throw error;
    }
  }

  async function dotenvChange(path: string, variables: readonly Variable[]): Promise<FileChange> {
    const file = resolve(path);
    const before = await readExactly(file);
    const after = withVariables(before ?? '', variables);
    if (after !== undefined) return { file, before, after };
    throw new HubError(
      'HUB_CONFIG_CONFLICT',
      `${file}: another program has just changed it. Try again`,
    );
  }

  return {
    planConnect: async (target: ConnectTarget, hub: HubAddress) =>
      await planConnect(target, hub, machine),
    planDisconnect: async (target: ConnectTarget, hub: HubUrl) =>
      await planDisconnect(target, hub, machine),
    /** Returns the tokens of the hub in a client's file, by entry. */
    tokens: async (target: ConnectTarget, hub: HubUrl) => await tokensOfHub(target, hub, machine),
    /** Returns the name under which the hub stores a client's token. */
    tokenName: (target: ConnectTarget) => tokenNameOf(target, machine.folder),
    /** True if the file has an entry of the hub already, so that an import adds none. */
    hasHub: async (target: ConnectTarget, { url }: HubUrl) =>
      await hasHub(await sourceOf(target, machine), target.client, { url }),
    find: async (selection: ImportSelection) => await findServers(selection, machine),
    newestImport: records.newest,
    /** Restores the files of the newest import, and removes the secrets that it stored. */
    async undoImport() {
      return await records.undo(async names => {
        const store = await openSecrets();
        for (const name of names) await store.remove(name);
      });
    },
    /** Fits an entry that the user writes to a container, as `fitEntry` describes. */
    fitEntry: async (entry: JsonObject, name: string, isWritable: boolean) =>
      await fitEntry(entry, {
        name,
        remedy: 'name one among its arguments, with --arg',
        machine: { ...machine, find: findPath },
        grants: { mayWrite: () => isWritable, mountsOf: () => [] },
        base: machine.folder,
        variables: [],
        hasKey: hasKey(entry),
      }),
    /** Returns the plan with keys as secrets of the hub instead of variables in `.env`. */
    toSecrets: async (plan: ImportPlan) => await toSecrets(plan, findSecret),

    /** Carries out a plan. Resolves to the path of the backup, if it made one. */
    async carryOut(plan: ConnectPlan): Promise<string | undefined> {
      if (plan.after === plan.before) return undefined;
      // A file that returns to an earlier text needs no backup: one with that text exists.
      const isRestored = plan.after === undefined || plan.restores.length > 0;
      if (!isRestored) return await writeWithBackup(plan, writeWhole);
      await writeBack(plan, writeWhole);
      for (const path of plan.restores) await rm(path, { force: true });
      return undefined;
    },

    /** Returns the current state of every client file. */
    overview: async (hub: HubUrl) =>
      await Array.fromAsync(allConfigFiles(machine), async place => ({
        ...place,
        state: await stateOf(place, hub),
      })),

    /** Returns the clients installed on this machine: those with a file for the user, or the folder for that file. */
    async installed(): Promise<readonly ClientName[]> {
      const found = await Array.fromAsync(
        allConfigFiles(machine),
        async ({ client, scope, file }) => {
          const folder = dirname(file);
          const isThere =
            scope === 'user' &&
            ((await exists(file)) || (folder !== machine.home && (await exists(folder))));
          return isThere ? [client] : [];
        },
      );
      return found.flat();
    },

    async planImport(
      found: FoundServers,
      files: HubFiles,
      { url }: HubUrl,
      grants: ImportGrants = { mayWrite: () => false, mountsOf: () => [] },
    ): Promise<ImportPlan> {
      const options = await readOptions();
      const { home, folder, platform } = machine;
      return await planImport(found, {
        config: await loadConfig(files.config, options),
        configFile: files.config,
        dotenv: (await readExactly(files.dotenv)) ?? '',
        env: options.env,
        machine: { home, folder, platform, find: findPath },
        grants,
        hubUrl: url,
        editorWith,
      });
    },

    /** Removes from a plan the settings that are not allowed. */
    async tighten(plan: ImportPlan, { config: configFile }: HubFiles, isAllowed: IsAllowed) {
      const config = await loadConfig(configFile, await readOptions());
      return await tighten(plan, isAllowed, { config, configFile, editorWith });
    },

    /** Removes keys that no added entry uses from a plan, and duplicates of servers that are not added. */
    withoutUnusedKeys: settle,

    /**
     * Writes an undo record, then the secrets, then the servers. If it rejects, all files have their earlier content,
     * or what another program has just written.
     */
    async carryOutImport(plan: ImportPlan, files: HubFiles) {
      const changes = await changesOf(plan, files);
      const added = plan.items.flatMap(item => (item.action === 'add' ? [item.name] : []));
      const secrets = plan.secrets ?? [];
      const names = secrets.map(({ name }) => name);
      // Open the secrets first: if that fails, no record of this import may remain.
      const store = secrets.length > 0 ? await openSecrets() : undefined;
      const record = await records.begin(added, changes, names);
      const unwritten = new Set(changes.map(({ file }) => file));
      try {
        for (const { name, value } of secrets) await store?.set(name, value);
        // Make no backups: the name of a copy of `.env`, which contains keys, may be missing in ignore rules of git.
        for (const change of changes) {
          await writeBack(change, writeWhole);
          unwritten.delete(change.file);
        }
      } catch (error) {
        await record.forget(unwritten).catch(() => undefined); // Only the first error is reported.
        await record.revert().catch(() => undefined); // Only the first error is reported.
        for (const name of names) await store?.remove(name).catch(() => undefined); // Only the first error is reported.
        throw error;
      }
      return {
        added,
        /** Calls `removeServers`. Without a replacement, the clients' files get no entry of the hub. */
        removeFromClients: async (
          items: readonly ImportItem[],
          replacement: Replacement = { hubOf: async () => undefined, ready: async () => {} },
        ) => await removeServers(items, record, replacement, writeWhole),
      };
    },
  };
}
