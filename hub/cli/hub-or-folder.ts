import { join } from 'node:path';
import { HubError } from '#core';
import type { Run } from './command.ts';
import { type HubClient, isWithoutHub, openHub } from './hub-client.ts';

type Sources<T> = {
  /** Name of the folder in the data folder of a hub. */
  readonly folder: string;
  /** What the folder contains, for messages: `audit log`. */
  readonly contents: string;
  readonly isEmpty: (folder: string) => Promise<boolean>;
  readonly ask: (hub: HubClient) => Promise<T>;
  readonly read: (folder: string) => Promise<T>;
};

/**
 * Asks the running hub. If none runs here, reads the folder in the first data folder where it is not empty. Rejects with
 * HUB_CONNECT_FAILED if there is none.
 */
export async function askHubOrFolder<T>(run: Run, sources: Sources<T>): Promise<T> {
  try {
    return await sources.ask(await openHub(run));
  } catch (error) {
    if (!isWithoutHub(error, run)) throw error;
    const dataFolders = await run.needs.files.findDataFolders();
    const folders = dataFolders.map(folder => join(folder, sources.folder));
    for (const folder of folders)
      if (!(await sources.isEmpty(folder))) return await sources.read(folder);
    throw new HubError(
      'HUB_CONNECT_FAILED',
      `no hub runs, and there is no ${sources.contents} in ${folders.join(' or ')}. Start the hub, or set DATA_DIR to its data folder`,
      { cause: error },
    );
  }
}
