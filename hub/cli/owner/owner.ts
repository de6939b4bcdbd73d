import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { OwnerAccess } from './socket.ts';
import type { Compose } from './compose.ts';

export type OwnerOptions = {
  /** Of the process alone: a `.env` of the working folder does not name the file of a key. */
  readonly env: NodeJS.ProcessEnv;
  /** Where this hub is installed: its own compose file, and the data folder of "npm start". */
  readonly root: string;
  readonly dataDir: string;
  readonly inContainer: boolean;
};

/** The person who owns a hub, as far as the keys of this user show it. */
export interface Owner {
  /** `isNamed`: the person wrote the address on the command line. */
  accessTo(url: string, isNamed: boolean): (signal: AbortSignal) => Promise<OwnerAccess>;
  /** The key of the hub that runs here, or else of the one that ran here last. */
  findKey(signal: AbortSignal): Promise<string | undefined>;
}

export function createOwner({ env, root, dataDir, inContainer }: OwnerOptions): Owner {
  const dataDirs = env['DATA_DIR'] ? [dataDir] : [...new Set([dataDir, join(root, 'data')])];

  async function findCompose(): Promise<Compose | undefined> {
    const file = join(root, 'docker-compose.yml');
    if (inContainer) return undefined;
    return await access(file).then(
      () => ({ file, env }),
      () => undefined,
    );
  }

  return {
    accessTo: (url, isNamed) => async signal => {
      const keyFile = env['AGENTHUB_OWNER_KEY_FILE'] || undefined;
      const compose = await findCompose();
      const { findOwnerAccess } = await import('./access.ts');
      return await findOwnerAccess(url, { dataDirs, keyFile, isNamed, compose }, signal);
    },
    async findKey(signal) {
      const { findRunning, ownerKeyFile, readKey } = await import('#store');
      for (const folder of dataDirs)
        if (await findRunning(folder)) return await readKey(ownerKeyFile(folder));
      const compose = await findCompose();
      const { readComposeKey } = await import('./compose.ts');
      const key = compose && (await readComposeKey(compose, signal));
      if (key !== undefined) return key;
      for (const folder of dataDirs) {
        const kept = await readKey(ownerKeyFile(folder));
        if (kept !== undefined) return kept;
      }
      return undefined;
    },
  };
}
