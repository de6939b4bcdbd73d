import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { OwnerAccess } from './socket.ts';
import type { Compose } from './compose.ts';

export type OwnerOptions = {
  /** The process's environment only: a `.env` in the working folder may not name a key file. */
  readonly env: NodeJS.ProcessEnv;
  /** Installation folder: contains the compose file and the data folder of "npm start". */
  readonly root: string;
  readonly dataDir: string;
  readonly inContainer: boolean;
};

/** Access to the owner's keys that this user can read. */
export interface HubOwner {
  /** `isNamed`: the URL comes from the command line. */
  accessTo(url: string, isNamed: boolean): (signal: AbortSignal) => Promise<OwnerAccess>;
  /** The key of the running hub, or of the one that ran last. */
  findKey(signal: AbortSignal): Promise<string | undefined>;
}

export function createOwner({ env, root, dataDir, inContainer }: OwnerOptions): HubOwner {
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
