import { rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { HubError } from '#core';
import type { Upkeep } from '#runtimes';
import { serverFolder } from '../plan.ts';

/** Servers that run as processes have a folder each, below the hub's own. */
export function createFolderUpkeep(dataDir: string): Upkeep {
  return {
    // Their packages are installed by their first start.
    prepare: async () => ({}),
    async belongings({ server }) {
      const name = serverFolder(dataDir, server);
      const found = await stat(name).catch(() => undefined);
      return found?.isDirectory() ? [{ kind: 'folder', name }] : [];
    },
    async discard({ kind, name }) {
      // The name of a server has no dot and no slash in it: a folder below that of all servers, and no other.
      if (kind !== 'folder' || dirname(resolve(name)) !== resolve(serverFolder(dataDir, '.')))
        throw new HubError('HUB_INTERNAL', `${name} is no folder of a server`);
      await rm(name, { recursive: true, force: true });
    },
  };
}
