import { access, rm } from 'node:fs/promises';
import { type ConfigEditor, type LoadOptions, createConfigEditor, loadConfig } from '#config';
import { HubError } from '#core';
import { type ClientName, type Scope, clientNames } from './client.ts';
import { type WriteWhole, readExactly, writeBack, writeWithBackup } from './client-file.ts';
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
import { type Found, findServers } from './found-servers.ts';
import { type HubAddress, isHub } from './hub-entry.ts';
import { type ImportItem, type ImportPlan, planImport } from './import-plan.ts';
import { type Machine, placeOf } from './places.ts';
import type { Variable } from './secret-values.ts';

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
  /** Copies of the files out of which servers were taken. */
  readonly backups: readonly string[];
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
  find(names: readonly ClientName[]): Promise<Found>;
  planImport(found: Found, files: HubFiles, hub: Pick<HubAddress, 'url'>): Promise<ImportPlan>;
  /** Writes the keys, then the servers, and where `remove` is true takes them out of the files of clients. */
  carryOutImport(plan: ImportPlan, files: HubFiles, remove: boolean): Promise<Imported>;
}

export type ClientsNeeds = {
  readonly machine: Machine;
  readonly writeWhole: WriteWhole;
  /** What a config of the hub is read with: the environment, with `.env` behind it. */
  readonly readOptions: () => Promise<LoadOptions>;
};

export function createClients({ machine, writeWhole, readOptions }: ClientsNeeds): Clients {
  const editorWith = (variables: readonly Variable[]): ConfigEditor =>
    createConfigEditor({
      readOptions: async () => {
        const options = await readOptions();
        return { ...options, env: { ...options.env, ...valuesOf(variables) } };
      },
      writeWhole,
    });

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
    find: async names => await findServers(names, machine),

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

    async carryOutImport({ items, variables }, files, remove) {
      if (variables.length > 0) await writeVariables(files.dotenv, variables);
      const editor = editorWith(variables);
      const added: string[] = [];
      for (const item of items) {
        if (item.action !== 'add') continue;
        try {
          await editor.addServer(files.config, item.name, item.entry);
        } catch (error) {
          if (!(error instanceof HubError) || added.length === 0) throw error;
          throw new HubError(
            error.code,
            `${error.message}\nAdded before that: ${added.join(', ')}`,
            {
              cause: error,
            },
          );
        }
        added.push(item.name);
      }
      return { added, backups: remove ? await removeFrom(items) : [] };
    },
  };

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

  async function writeVariables(file: string, variables: readonly Variable[]): Promise<void> {
    const before = await readExactly(file);
    const after = withVariables(before ?? '', variables);
    if (after === undefined)
      throw new HubError(
        'HUB_CONFIG_CONFLICT',
        `${file}: somebody else has just written it. Try again`,
      );
    // No copy: it would hold keys under a name that no rule keeps out of version control.
    await writeBack({ file, before, after }, writeWhole);
  }

  /** Takes the servers that the hub has now out of their files, each of which is written once. */
  async function removeFrom(items: readonly ImportItem[]): Promise<readonly string[]> {
    const gone = items.filter(({ action }) => action !== 'skip').map(({ found }) => found);
    const backups: string[] = [];
    for (const file of new Set(gone.map(({ source }) => source.file))) {
      const inFile = gone.filter(({ source }) => source.file === file);
      const [first] = inFile;
      if (!first) continue;
      let { text } = first.source;
      for (const { source, path, name } of inFile)
        text = await withValue({ ...source, text }, [...path, name], undefined);
      const backup = await writeWithBackup(
        { file, before: first.source.text, after: text },
        writeWhole,
      );
      if (backup !== undefined) backups.push(backup);
    }
    return backups;
  }
}
