import { access, readFile, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type ConfigEditor, type LoadOptions, createConfigEditor, loadConfig } from '#config';
import { HubError } from '#core';
import { type ClientName, type ClientScope, clientNames } from './client/client.ts';
import {
  type FileChange,
  type WriteWhole,
  readExactly,
  writeBack,
  writeWithBackup,
} from './client/file.ts';
import { withValue } from './client/text.ts';
import { type ClientMachine, configFileOf } from './config-locations.ts';
import {
  type ConnectPlan,
  type ConnectTarget,
  planConnect,
  planDisconnect,
  serversIn,
  sourceOf,
} from './connect-plan.ts';
import { valuesOf, withVariables } from './dotenv.ts';
import type { Variable } from './extract-secrets.ts';
import { type FoundServers, type ImportSelection, findServers } from './find-servers.ts';
import { type HubAddress, pointsToHub } from './hub-entry.ts';
import { type ImportItem, type ImportPlan, planImport } from './import-plan.ts';
import { type ImportRecord, type UndoableImport, createImportRecords } from './import-record.ts';
import { type IsAllowed, tighten } from './tighten.ts';

/** One client file, and whether the hub is in it. */
export type ClientState = {
  readonly client: ClientName;
  readonly scope: ClientScope;
  readonly file: string;
  readonly state: 'absent' | 'unconnected' | 'connected' | 'unreadable';
};

/** The hub's config file and its `.env` file. */
export type HubFiles = { readonly config: string; readonly dotenv: string };

/** The result of an import. */
export type ImportResult = {
  readonly added: readonly string[];
  /**
   * Removes imported servers from the clients' files. Resolves to the backups of those files. Undoing the
   * import also restores these files.
   */
  readonly removeFromClients: (items: readonly ImportItem[]) => Promise<readonly string[]>;
};

/**
 * The files of MCP clients on this machine. Methods named `plan` write nothing. All methods reject with
 * HubError.
 */
export interface Clients {
  planConnect(target: ConnectTarget, hub: HubAddress): Promise<ConnectPlan>;
  planDisconnect(
    target: ConnectTarget,
    hub: Pick<HubAddress, 'url'>,
  ): Promise<ConnectPlan & { readonly others: readonly string[] }>;
  /** Carries out a plan. Resolves to the path of the backup, if there is one. */
  carryOut(plan: ConnectPlan): Promise<string | undefined>;
  /** The current state of every client file. */
  overview(hub: Pick<HubAddress, 'url'>): Promise<readonly ClientState[]>;
  find(selection: ImportSelection): Promise<FoundServers>;
  planImport(
    found: FoundServers,
    files: HubFiles,
    hub: Pick<HubAddress, 'url'>,
  ): Promise<ImportPlan>;
  /** Removes from a plan the settings that are not allowed. */
  tighten(plan: ImportPlan, files: HubFiles, isAllowed: IsAllowed): Promise<ImportPlan>;
  /** Writes an undo record, then the secrets, then the servers. If it rejects, all files are as before. */
  carryOutImport(plan: ImportPlan, files: HubFiles): Promise<ImportResult>;
  /** The newest import that can be undone; undefined if there is none. */
  newestImport(): Promise<UndoableImport | undefined>;
  /** Undoes the newest import. Rejects with HUB_CONFIG_CONFLICT if a file changed since. */
  undoImport(): Promise<UndoableImport | undefined>;
}

type ClientsNeeds = {
  readonly machine: ClientMachine;
  readonly writeWhole: WriteWhole;
  /** Options for loading the hub's config: the environment, then `.env`. */
  readonly readOptions: () => Promise<LoadOptions>;
  /** The folder for undo records, an absolute path. */
  readonly recordsFolder: () => Promise<string>;
  readonly now: () => number;
};

export function createClients(needs: ClientsNeeds): Clients {
  const { machine, writeWhole, readOptions } = needs;
  const records = createImportRecords({
    folder: needs.recordsFolder,
    writeWhole,
    now: needs.now,
  });
  const withVariablesSet = (variables: readonly Variable[]) => async () => {
    const options = await readOptions();
    return { ...options, env: { ...options.env, ...valuesOf(variables) } };
  };
  const editorWith = (variables: readonly Variable[]): ConfigEditor =>
    createConfigEditor({ readOptions: withVariablesSet(variables), writeWhole });

  async function carryOut(plan: ConnectPlan): Promise<string | undefined> {
    if (plan.after === plan.before) return undefined;
    // A file that returns to an earlier text already has its backup.
    const isRestored = plan.after === undefined || plan.restores.length > 0;
    if (!isRestored) return await writeWithBackup(plan, writeWhole);
    await writeBack(plan, writeWhole);
    for (const path of plan.restores) await rm(path, { force: true });
    return undefined;
  }

  return {
    carryOut,
    planConnect: async (target, hub) => await planConnect(target, hub, machine),
    planDisconnect: async (target, hub) => await planDisconnect(target, hub, machine),
    find: async selection => await findServers(selection, machine),
    newestImport: async () => await records.newest(),
    undoImport: async () => await records.undo(),

    async overview(hub) {
      const states: ClientState[] = [];
      for (const client of clientNames)
        for (const scope of ['user', 'workspace'] as const) {
          const file = configFileOf(client, scope, machine);
          if (file !== undefined)
            states.push({ client, scope, file, state: await stateOf(client, scope, hub) });
        }
      return states;
    },

    async planImport(found, files, { url }) {
      const options = await readOptions();
      const { home, folder } = machine;
      return await planImport(found, {
        config: await loadConfig(files.config, options),
        configFile: files.config,
        dotenv: (await readExactly(files.dotenv)) ?? '',
        env: options.env,
        home,
        folder,
        hubUrl: url,
        editorWith,
        exists: async path =>
          await access(path.replace(/^~/, () => home)).then(
            () => true,
            () => false,
          ),
      });
    },

    async tighten(plan, { config: configFile }, isAllowed) {
      const config = await loadConfig(configFile, await readOptions());
      return await tighten(plan, isAllowed, { config, configFile, editorWith });
    },

    async carryOutImport(plan, files) {
      const changes = await changesOf(plan, files);
      const added = plan.items.flatMap(item => (item.action === 'add' ? [item.name] : []));
      const record = await records.begin(added, changes);
      try {
        // No backups: a copy of `.env` would hold keys under a name that no ignore rule keeps out of version
        // control.
        for (const change of changes) await writeBack(change, writeWhole);
      } catch (error) {
        await records.undo().catch(() => undefined); // The first error tells more.
        throw error;
      }
      return { added, removeFromClients: async items => await removeFromClients(items, record) };
    },
  };

  /**
   * Computes the new texts of the config and `.env` in memory, so that errors show before anything is written.
   */
  async function changesOf(
    { items, variables }: ImportPlan,
    files: HubFiles,
  ): Promise<readonly FileChange[]> {
    const config = await readExactly(files.config);
    let text = config ?? '';
    const editor = createConfigEditor({
      readOptions: withVariablesSet(variables),
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

  async function stateOf(client: ClientName, scope: ClientScope, hub: Pick<HubAddress, 'url'>) {
    try {
      const source = await sourceOf({ client, scope }, machine);
      if (source.text === undefined) return 'absent';
      const servers = Object.values(await serversIn(source, client));
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

  /** Reads the files again, because clients write theirs at any time. Writes each file once. */
  async function removeFromClients(
    items: readonly ImportItem[],
    record: ImportRecord,
  ): Promise<readonly string[]> {
    const gone = items.map(({ found }) => found);
    const backups: string[] = [];
    for (const file of new Set(gone.map(({ source }) => source.file))) {
      const inFile = gone.filter(({ source }) => source.file === file);
      const before = await readExactly(file);
      let text = before;
      for (const { client, source, path, name, entry } of inFile) {
        const now = { ...source, text };
        const found = (await serversIn(now, client, path))[name];
        // An entry that the client has changed since is not the imported server.
        if (isDeepStrictEqual(structuredClone(found), structuredClone(entry)))
          text = await withValue(now, [...path, name], undefined);
      }
      if (text === before) continue;
      const change = { file, before, after: text };
      await record.add([change]);
      const backup = await writeWithBackup(change, writeWhole);
      if (backup === undefined) continue;
      await record.addBackup(file, backup);
      backups.push(backup);
    }
    return backups;
  }
}
