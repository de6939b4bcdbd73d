import { HubError, messageOf } from '#core';
import { type RunningHub, findRunning, ownerKeyFile, readKey } from '#store';
import { type Compose, findInCompose } from './compose.ts';
import { type OwnerAccess, isLoopback, socketOf } from './socket.ts';

export type OwnerAccessOptions = {
  /** Data folders that may contain the key of a hub of this user. */
  readonly dataDirs: readonly string[];
  /** AGENTHUB_OWNER_KEY_FILE from the environment, for a hub on another machine. */
  readonly keyFile: string | undefined;
  /** True if the URL comes from the command line, not from a file in the working folder. */
  readonly isNamed: boolean;
  /** The hub's compose file; undefined if the installation has none. */
  readonly compose: Compose | undefined;
};

/**
 * Finds the owner's key for the hub at a URL. The key is sent only to the hub that it belongs to: a running hub that
 * uses the key's data folder and listens on exactly that socket, the hub of the compose project at its published
 * port, or a hub that the user names together with its key file. Another program that listens at the address
 * meanwhile therefore never receives the key. Rejects with HUB_OWNER_ONLY and a remedy.
 */
export async function findOwnerAccess(
  address: string,
  options: OwnerAccessOptions,
  signal: AbortSignal,
): Promise<OwnerAccess> {
  const url = new URL(address);
  if (options.keyFile !== undefined) return await fromFile(url, options.keyFile, options.isNamed);
  for (const folder of options.dataDirs) {
    const running = await findRunning(folder);
    if (!running || !isAt(url, running)) continue;
    const key = await keyIn(ownerKeyFile(folder));
    if (key !== undefined) return { key, dial: socketOf(url, running.sockets) };
  }
  const found = options.compose && (await findInCompose(url, options.compose, signal));
  if (found) return found;
  throw new HubError(
    'HUB_OWNER_ONLY',
    `this needs the owner's key of the hub at ${url.origin}, and no hub running there keeps its key in ${options.dataDirs.map(folder => JSON.stringify(folder)).join(' or ')}. Run the command as the user who started the hub, in the folder where it was started. For a hub on another machine, name it with --url, and a copy of its key with AGENTHUB_OWNER_KEY_FILE`,
  );
}

const isAt = (url: URL, running: RunningHub): boolean =>
  socketOf(url, running.sockets) !== undefined ||
  (url.protocol === 'https:' && url.origin === URL.parse(running.url)?.origin);

async function fromFile(url: URL, file: string, isNamed: boolean): Promise<OwnerAccess> {
  if (!isNamed)
    throw new HubError(
      'HUB_USAGE',
      'AGENTHUB_OWNER_KEY_FILE: also name the hub that gets this key, with --url',
    );
  if (url.protocol !== 'https:' && !isLoopback(url.hostname))
    throw new HubError(
      'HUB_USAGE',
      `--url: ${url.origin} is on another machine, where the owner's key is sent only over TLS. Write https://`,
    );
  const key = await keyIn(file);
  if (key !== undefined) return { key, dial: undefined };
  throw new HubError('HUB_USAGE', `AGENTHUB_OWNER_KEY_FILE: ${JSON.stringify(file)} is not there`);
}

async function keyIn(file: string): Promise<string | undefined> {
  try {
    return await readKey(file);
  } catch (cause) {
    throw new HubError('HUB_OWNER_ONLY', `the owner's key is not usable: ${messageOf(cause)}`, {
      cause,
    });
  }
}
