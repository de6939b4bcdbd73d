import { access, readFile, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type ConfigEditor, type LoadOptions, createConfigEditor, loadConfig } from '#config';
import { HubError } from '#core';
import { type ClientName, type Scope, clientNames } from './client.ts';
import {
  type WriteWhole,
  type Writing,
  readExactly,
  writeBack,
  writeWithBackup,
} from './client-file.ts';
import { withValue } from './client-text.ts';
import {
  type Plan,
  type Target,
  planConnect,
  planDisconnect,
  serversIn,
  sourceOf,
} from './connection.ts';
import { valuesOf, withVariables } from './dotenv.ts';
import { type Found, type Wanted, findServers } from './found-servers.ts';
import { type HubAddress, isHub } from './hub-entry.ts';
import { type ImportItem, type ImportPlan, planImport } from './import-plan.ts';
import { type ImportRecord, type Undoable, createImportRecords } from './import-record.ts';
import { type Machine, placeOf } from './places.ts';
import type { Variable } from './secret-values.ts';
import { type Allows, tighten } from './tighten.ts';

/** Where a client keeps its servers, and whether the hub is among them. */
export type ClientState = {
  readonly client: ClientName;
  readonly scope: Scope;
  readonly file: string;
  readonly state: 'absent' | 'unconnected' | 'connected' | 'unreadable';
};

/** The config of the hub, and the file in which its variables are. */
export type HubFiles = { readonly config: string; readonly dotenv: string };

/** What an import has written. */
export type Imported = {
  readonly added: readonly string[];
  /**
   * Takes servers that the hub runs now out of the files of clients, and answers with the copies that were kept
   * of those. An undo restores the files as well.
   */
  readonly takeOut: (those: readonly ImportItem[]) => Promise<readonly string[]>;
};

/** The files of MCP clients on this machine. Plans write nothing; what they throw is HubError. */
export interface Clients {
  planConnect(target: Target, hub: HubAddress): Promise<Plan>;
  planDisconnect(
    target: Target,
    hub: Pick<HubAddress, 'url'>,
  ): Promise<Plan & { readonly others: readonly string[] }>;
  /** Does what a plan says; answers with the copy that was kept, where there is one. */
  carryOut(plan: Plan): Promise<string | undefined>;
  /** Every file of every client, as it is now. */
  overview(hub: Pick<HubAddress, 'url'>): Promise<readonly ClientState[]>;
  find(wanted: Wanted): Promise<Found>;
  planImport(found: Found, files: HubFiles, hub: Pick<HubAddress, 'url'>): Promise<ImportPlan>;
  /** The plan without what is not allowed. */
  tighten(plan: ImportPlan, files: HubFiles, allows: Allows): Promise<ImportPlan>;
  /**
   * Writes the keys, then the servers, and before that what undoes it. All or nothing: where it throws, the files
   * are as they were.
   */
  carryOutImport(plan: ImportPlan, files: HubFiles): Promise<Imported>;
  /** What the newest import has changed; undefined where none can be undone. */
  newestImport(): Promise<Undoable | undefined>;
  /** Restores what the newest import has changed. Throws HUB_CONFIG_CONFLICT where a file was changed since. */
  undoImport(): Promise<Undoable | undefined>;
}

export type ClientsNeeds = {
  readonly machine: Machine;
  readonly writeWhole: WriteWhole;
  /** What a config of the hub is read with: the environment, with `.env` behind it. */
  readonly readOptions: () => Promise<LoadOptions>;
  /** Where it is kept what undoes imports, an absolute path. */
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

  async function carryOut(plan: Plan): Promise<string | undefined> {
    if (plan.after === plan.before) return undefined;
    // A file that becomes what it was needs no other copy.
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
    find: async wanted => await findServers(wanted, machine),
    newestImport: async () => await records.newest(),
    undoImport: async () => await records.undo(),

    async overview(hub) {
      const states: ClientState[] = [];
      for (const client of clientNames)
        for (const scope of ['user', 'workspace'] as const) {
          const file = placeOf(client, scope, machine);
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

    async tighten(plan, { config: configFile }, allows) {
      const config = await loadConfig(configFile, await readOptions());
      return await tighten(plan, allows, { config, configFile, editorWith });
    },

    async carryOutImport(plan, files) {
      const writings = await writingsOf(plan, files);
      const added = plan.items.flatMap(item => (item.action === 'add' ? [item.name] : []));
      const record = await records.begin(added, writings);
      try {
        // No copies: one of `.env` would hold keys under a name that no rule keeps out of version control.
        for (const writing of writings) await writeBack(writing, writeWhole);
      } catch (error) {
        await records.undo().catch(() => undefined); // The first error tells more.
        throw error;
      }
      return { added, takeOut: async those => await takeOut(those, record) };
    },
  };

  /** What the config and `.env` are to hold: made in memory, so that it is known before anything is written. */
  async function writingsOf(
    { items, variables }: ImportPlan,
    files: HubFiles,
  ): Promise<readonly Writing[]> {
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
    const writings = variables.length > 0 ? [await dotenvWriting(files.dotenv, variables)] : [];
    return text === config
      ? writings
      : [...writings, { file: resolve(files.config), before: config, after: text }];
  }

  async function stateOf(client: ClientName, scope: Scope, hub: Pick<HubAddress, 'url'>) {
    try {
      const source = await sourceOf({ client, scope }, machine);
      if (source.text === undefined) return 'absent';
      const servers = Object.values(await serversIn(source, client));
      return servers.some(entry => isHub(entry, hub)) ? 'connected' : 'unconnected';
    } catch (error) {
      if (error instanceof HubError) return 'unreadable';
      throw error;
    }
  }

  async function dotenvWriting(path: string, variables: readonly Variable[]): Promise<Writing> {
    const file = resolve(path);
    const before = await readExactly(file);
    const after = withVariables(before ?? '', variables);
    if (after !== undefined) return { file, before, after };
    throw new HubError(
      'HUB_CONFIG_CONFLICT',
      `${file}: somebody else has just written it. Try again`,
    );
  }

  /** As the files are by now: clients write theirs at any time. Each file is written once. */
  async function takeOut(
    those: readonly ImportItem[],
    record: ImportRecord,
  ): Promise<readonly string[]> {
    const gone = those.map(({ found }) => found);
    const copies: string[] = [];
    for (const file of new Set(gone.map(({ source }) => source.file))) {
      const inFile = gone.filter(({ source }) => source.file === file);
      const before = await readExactly(file);
      let text = before;
      for (const { client, source, path, name, entry } of inFile) {
        const now = { ...source, text };
        const found = (await serversIn(now, client, path))[name];
        // What the client has changed since is another server.
        if (isDeepStrictEqual(structuredClone(found), structuredClone(entry)))
          text = await withValue(now, [...path, name], undefined);
      }
      if (text === before) continue;
      const writing = { file, before, after: text };
      await record.add([writing]);
      const copy = await writeWithBackup(writing, writeWhole);
      if (copy === undefined) continue;
      await record.keepsCopy(file, copy);
      copies.push(copy);
    }
    return copies;
  }
}
