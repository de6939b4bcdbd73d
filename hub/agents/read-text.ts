import { readFile } from 'node:fs/promises';
import { HubError, errorCodeOf, messageOf } from '#core';

/**
 * Reads a file of the agents; undefined if it does not exist. Rejects with HUB_AGENT_STORE_FAILED if it cannot be read
 * now, such as without permission: a later read may succeed, so the file must stay as it is.
 */
export async function readText(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    if (errorCodeOf(cause) === 'ENOENT') return undefined;
    throw unreadable(file, cause);
  }
}

/** Returns the error for a file or a folder that cannot be read now. */
export const unreadable = (path: string, cause: unknown): HubError =>
  new HubError(
    'HUB_AGENT_STORE_FAILED',
    `${path} cannot be read: ${messageOf(cause)}. Correct its permissions or its disk`,
    { cause },
  );
