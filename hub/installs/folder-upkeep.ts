import { rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { HubError } from '#core';
import type { Belonging, LaunchSpec, Upkeep } from '#runtimes';
import { serverFolder } from '#servers';

/** Servers that run as processes have a folder each, below the hub's own. */
export function createFolderUpkeep(dataDir: string): Upkeep {
  const folderOf = ({ server }: LaunchSpec): Belonging => ({
    kind: 'folder',
    name: serverFolder(dataDir, server),
  });
  return {
    // Their packages are installed by their first start.
    prepare: async () => ({}),
    candidates: async spec => [folderOf(spec)],
    async belongings(spec) {
      const folder = folderOf(spec);
      const found = await stat(folder.name).catch(() => undefined); // No folder: nothing to discard.
      return found?.isDirectory() ? [folder] : [];
    },
    async discard({ kind, name }) {
      // The name of a server has no dot and no slash in it: a folder below that of all servers, and no other.
      if (kind !== 'folder' || dirname(resolve(name)) !== resolve(serverFolder(dataDir, '.')))
        throw new HubError('HUB_INTERNAL', `${name} is no folder of a server`);
      await rm(name, { recursive: true, force: true });
    },
  };
}
