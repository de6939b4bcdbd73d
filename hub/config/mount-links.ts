import { lstat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ServerConfig } from './normalize.ts';
import { followLinks, isIn } from './paths.ts';

type Mounting = Pick<ServerConfig, 'name' | 'enabled' | 'launch'>;
type Writer = { readonly name: string; readonly folder: string };

/**
 * Examines the mounts of a server at its launch. The engine follows symbolic links, so another server, or an earlier run
 * of this one, that may write to a folder above a mount could replace the mount by a link to any folder of this machine.
 * `fault`: why the server must not get its mounts, as a sentence with a remedy. `state`: a text that changes if a file
 * or folder beside a mount, or beside a folder above it, is moved.
 */
export async function examineMounts(
  server: Mounting,
  all: readonly Mounting[],
): Promise<{ readonly fault?: string; readonly state: string }> {
  const { launch } = server;
  if (launch.kind !== 'local') return { state: '' };
  const { mounts, mountLinks = [] } = launch.sandbox;
  const writers = all.flatMap(writersOf);
  for (const link of mountLinks) {
    const writer = writers.find(({ folder }) => isIn(link, folder));
    if (writer)
      return {
        fault: `a mount leads through the link ${link}, which ${writer.name} may have created, as it may write to ${writer.folder}. Write the folder behind the link in "mounts", or remove the link`,
        state: '',
      };
  }
  const states: string[] = [];
  for (const { source } of mounts) {
    const real = await followLinks(source);
    if (real !== source)
      return {
        fault: `the mount ${source} leads to ${real} now, as a link has replaced a folder of its path. Remove the link, or run "agenthub reload" if it is yours`,
        state: '',
      };
    for (const folder of foldersAbove(source)) {
      if (!writers.some(one => isIn(folder, one.folder))) break;
      const found = await lstat(folder, { bigint: true }).catch(() => undefined); // A hub in a container does not see it.
      states.push(`${folder} ${found?.ino} ${found?.ctimeNs}`);
    }
  }
  return { state: states.join('\n') };
}

const writersOf = ({ name, enabled, launch }: Mounting): readonly Writer[] =>
  enabled && launch.kind === 'local'
    ? launch.sandbox.mounts
        .filter(({ readOnly }) => !readOnly)
        .map(({ source }) => ({ name, folder: source }))
    : [];

function* foldersAbove(path: string): Generator<string> {
  for (let at = path; dirname(at) !== at; at = dirname(at)) yield dirname(at);
}
