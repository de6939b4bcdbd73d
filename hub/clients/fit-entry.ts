import { entryKeys, userForMounts } from '#config';
import { type JsonObject, stringsIn } from '#core';
import { type FoundPath, mountFolders, objectOf } from './folder-mounts.ts';
import { type KnownPackage, findKnownPackage } from './known-packages.ts';
import { networkNeedOf } from './network-need.ts';
import type { Variable } from './secrets.ts';
import { imageOf, sourceNameOf } from './source-name.ts';

/** The machine whose folders the servers use. */
export type MachinePaths = {
  readonly home: string;
  /** Path of the current folder. */
  readonly folder: string;
  /** Value of `process.platform`. Only on Linux, containers see the real owners of files. */
  readonly platform: string;
  readonly find: (path: string) => Promise<FoundPath | undefined>;
};

/** Access that the user grants to imported servers, by their names in the hub, besides that in their entries. */
export type ImportGrants = {
  /** True if a server may write to the folders that its entry names. */
  readonly mayWrite: (server: string) => boolean;
  /** Returns additional mounts of a server: `FOLDER`, `FOLDER:rw` or `FOLDER:/path[:rw]`. */
  readonly mountsOf: (server: string) => readonly string[];
};

type EntryNeeds = {
  /** Name of the server in the hub. */
  readonly name: string;
  /** Remedy that tells the user how to name a folder for the server. */
  readonly remedy: string;
  readonly machine: MachinePaths;
  readonly grants: ImportGrants;
  /** Folder in which the client starts the server; undefined if unknown. */
  readonly base: string | undefined;
  /** Variables that the entry refers to, with their values. */
  readonly variables: readonly Variable[];
  /** True if the entry contains keys. */
  readonly hasKey: boolean;
};

/** True for an entry whose package is known to need the network or a folder, regardless of its arguments. */
export function hasKnownNeeds(entry: JsonObject): boolean {
  const { network = [], wantsFolder = false } = findKnownPackage(sourceNameOf(entry));
  return wantsFolder || network.length > 0;
}

/**
 * Fits an entry to a container. Folders of this machine that it names become mounts, and it gets the network and the
 * user that it probably needs. Existing settings of the entry stay. `remarks` are sentences about what the server may
 * lack.
 */
export async function fitEntry(
  entry: JsonObject,
  { name, remedy, machine, grants, base, variables, hasKey }: EntryNeeds,
): Promise<{ readonly entry: JsonObject; readonly remarks: readonly string[] }> {
  if (entry['url'] !== undefined) return { entry, remarks: [] };
  const known = findKnownPackage(sourceNameOf(entry));
  const valueOf = (text: string) => {
    const [, of] = /^\$\{(\w+)\}$/.exec(text) ?? [];
    return variables.find(variable => variable.name === of)?.value;
  };
  const texts = stringsIn([entry['args'], entry['env']]).map(text => valueOf(text) ?? text);
  const need = networkNeedOf(known, texts, hasKey);
  // A `docker run` command line has its own mounts, and its other paths are those of the container.
  const mounted =
    imageOf(entry) === undefined
      ? await mountFolders(entry, {
          machine,
          base,
          valueOf,
          isWritable: grants.mayWrite(name),
          more: grants.mountsOf(name),
        })
      : { entry, mounts: [], missing: [] };
  const { mounts, missing } = mounted;
  const { user, problems } =
    machine.platform === 'linux' && entry['user'] === undefined
      ? userForMounts(mounts)
      : { user: undefined, problems: [] };
  const network = entry['network'] === undefined ? need.network : undefined;
  const isPackage = imageOf(entry) === undefined && entryKeys.includes('system_packages');
  const isForeign = mounts.some(({ uid }) => String(uid) !== (user ?? '1000').split(':')[0]);
  return {
    entry: {
      ...(known.runsGit && isForeign ? withSafeFolders(mounted.entry) : mounted.entry),
      ...(known.runsGit && isPackage && { system_packages: ['git'] }),
      ...(network !== undefined && { network }),
      ...(user !== undefined && { user }),
    },
    remarks: [
      ...need.remarks,
      ...problems,
      ...(isMissingFolder(known, mounted.entry)
        ? [`it works on folders, and ${folderAdvice(missing, remedy)}`]
        : []),
      ...mounts
        .filter(({ source, target }) => source !== target)
        .map(({ source, target }) => `in its container, ${source} is ${target}`),
    ],
  };
}

const isMissingFolder = ({ wantsFolder }: KnownPackage, entry: JsonObject) =>
  wantsFolder === true && entry['mounts'] === undefined && entry['volumes'] === undefined;

const folderAdvice = (missing: readonly string[], remedy: string) =>
  missing.length === 0
    ? `names none: ${remedy}`
    : `${missing.join(', ')} does not exist on this machine: correct the path, or create the folder`;

/**
 * Declares all folders safe for git, which refuses repositories of another user. That check protects nothing in a
 * container, which contains only mounted folders.
 */
function withSafeFolders(entry: JsonObject): JsonObject {
  const env = objectOf(entry['env']);
  return {
    ...entry,
    env: {
      ...env,
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'safe.directory',
      GIT_CONFIG_VALUE_0: '*',
    },
  };
}
