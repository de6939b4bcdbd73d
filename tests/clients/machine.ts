import { mkdir, mkdtemp, readFile, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import {
  type ClientMachine,
  type Clients,
  type HubAddress,
  type HubFiles,
  type ImportPlan,
  clientNames,
  createClients,
} from '#clients';
import { writeWhole } from '#store';

/** Empty machine in a temporary folder. */
export type Scratch = AsyncDisposable & {
  readonly home: string;
  readonly machine: ClientMachine;
  readonly clients: Clients;
  /** Secrets of the hub. */
  readonly secrets: Map<string, string>;
  /** Folder for undo records. */
  readonly records: string;
  /** Writes a file. Resolves with its path. */
  put(path: string, text: string): Promise<string>;
  /** Returns the texts of all files, by path relative to the home folder. */
  files(): Promise<Readonly<Record<string, string>>>;
};

export const hub: HubAddress = {
  url: 'http://localhost:9090',
  bridge: { command: '/opt/node/bin/node', args: ['/opt/agenthub/bin/agenthub.mjs'] },
};

/** Workspace folder, relative to the home folder. */
const workspace = 'work';

export async function openScratch(env: Readonly<Record<string, string>> = {}): Promise<Scratch> {
  const home = await realpath(await mkdtemp(join(tmpdir(), 'agenthub-clients-')));
  const folder = join(home, workspace);
  await mkdir(folder);
  // Outside the user's home, because tests compare the whole home.
  const records = await mkdtemp(join(tmpdir(), 'agenthub-records-'));
  const secrets = new Map<string, string>();
  const machine: ClientMachine = { platform: 'linux', home, folder, env, packages: [] };
  const clients = createClients({
    machine,
    writeWhole,
    readOptions: async () => ({
      env,
      home,
      secrets: async names =>
        new Map(
          names.flatMap(name => {
            const value = secrets.get(name);
            return value === undefined ? [] : [[name, { value }] as const];
          }),
        ),
    }),
    recordsFolder: async () => join(records, 'imports'),
    now: () => 0,
    openSecrets: async () => ({
      set: async (name, value) => secrets.set(name, value),
      remove: async name => secrets.delete(name),
    }),
  });
  return {
    home,
    machine,
    clients,
    secrets,
    async put(path, text) {
      const file = join(home, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
      return file;
    },
    async files() {
      const found = await readdir(home, { recursive: true, withFileTypes: true });
      const paths = found
        .filter(entry => !entry.isDirectory())
        .map(entry => join(entry.parentPath, entry.name));
      const texts = paths.map(
        async path => [relative(home, path), await readFile(path, 'utf8')] as const,
      );
      return Object.fromEntries(await Promise.all(texts));
    },
    records: join(records, 'imports'),
    async [Symbol.asyncDispose]() {
      for (const folder of [home, records]) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Selects the files of the user, not those of a workspace. */
export const everything = { names: clientNames, scopes: ['user'], paths: [] } as const;

/** Plans to import all servers of the user's clients. */
export async function planOf(scratch: Scratch, files: HubFiles): Promise<ImportPlan> {
  return await scratch.clients.planImport(await scratch.clients.find(everything), files, hub);
}
