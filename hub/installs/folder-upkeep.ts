import { rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { HubError } from '#core';
import type { Belonging, LaunchSpec, Upkeep } from '#runtimes';
import { serverFolder } from '#servers';

/** Creates the upkeep of servers that run as processes. Each has a folder of its own in the data folder. */
export function createFolderUpkeep(dataDir: string): Upkeep {
  const folderOf = ({ server }: LaunchSpec): Belonging => ({
    kind: 'folder',
    name: serverFolder(dataDir, server),
  });
  return {
    // Nothing to prepare: the first start of a server installs its package.
    prepare: async () => ({}),
    candidates: async spec => [folderOf(spec)],
    async belongings(spec) {
      const folder = folderOf(spec);
      const found = await stat(folder.name).catch(() => undefined); // Without a folder, there is nothing to discard.
      return found?.isDirectory() ? [folder] : [];
    },
    async discard({ kind, name }) {
      // A server's name has no dot or slash, so its folder is a direct child of the servers' folder.
      if (kind !== 'folder' || dirname(resolve(name)) !== resolve(serverFolder(dataDir, '.')))
        throw new HubError('HUB_INTERNAL', `${name} is not a folder of a server`);
      await rm(name, { recursive: true, force: true });
    },
  };
}
