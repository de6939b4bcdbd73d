import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { HubError, isLoopback, messageOf } from '#core';
import { findRunning, ownerKeyFile, readKey } from '#store';
import { usageError } from './values.ts';

/** The owner's key of a hub, and an address at which only that hub answers. */
export type OwnerAccess = {
  readonly key: string;
  /** Socket of the hub, used instead of the URL's host name. Undefined if the hub's certificate identifies it. */
  readonly dial: ReturnType<typeof socketOf>;
};

/** The compose project that runs a hub. */
type Compose = {
  /** Path of the compose file of the hub's repository, never of one in the working folder. */
  readonly file: string;
  readonly env: NodeJS.ProcessEnv;
};

type OwnerAccessOptions = {
  /** Data folders that may contain the key of a hub of this user. */
  readonly dataDirs: readonly string[];
  /** Value of AGENTHUB_OWNER_KEY_FILE in the environment, for a hub on another machine. */
  readonly keyFile: string | undefined;
  /** True if the URL comes from the command line, not from a file in the working folder. */
  readonly isNamed: boolean;
  readonly compose: Compose | undefined;
};

/**
 * Finds the owner's key for the hub at a URL. The key is sent only to the hub that it belongs to: a running hub that
 * uses the key's data folder and listens on exactly that socket, the hub of the compose project at its published port,
 * or a hub that the user names together with its key file. Another program that has taken over the address therefore
 * never receives the key. Rejects with HUB_OWNER_ONLY and a remedy.
 */
export async function findOwnerAccess(
  address: string,
  { dataDirs, keyFile, isNamed, compose }: OwnerAccessOptions,
  signal: AbortSignal,
): Promise<OwnerAccess> {
  const url = new URL(address);
  if (keyFile !== undefined) return await fromFile(url, keyFile, isNamed);
  const running = await findRunningAccess(address, dataDirs);
  if (running) return running;
  const published = compose && (await docker(compose, ['port', 'hub', portOf(url)], signal));
  const dial = socketOf(url, published?.trim().split('\n') ?? []);
  const key = compose && dial && (await readComposeKey(compose, signal));
  if (key !== undefined) return { key, dial };
  throw new HubError(
    'HUB_OWNER_ONLY',
    `this needs the owner's key of the hub at ${url.origin}, and no hub running there keeps its key in ${dataDirs.map(folder => JSON.stringify(folder)).join(' or ')}. Run the command as the user who started the hub, in the folder where it was started. For a hub on another machine, name it with --url, and a copy of its key with AGENTHUB_OWNER_KEY_FILE`,
  );
}

/**
 * Finds the owner's key for the hub that runs at a URL with one of these data folders. Reads files only. Undefined if
 * no such hub runs. Rejects with HUB_OWNER_ONLY for an unusable key.
 */
export async function findRunningAccess(
  address: string,
  dataDirs: readonly string[],
): Promise<OwnerAccess | undefined> {
  const url = new URL(address);
  for (const folder of dataDirs) {
    const running = await findRunning(folder);
    const dial = running && socketOf(url, running.sockets);
    const isSecure =
      url.protocol === 'https:' && running && url.origin === URL.parse(running.url)?.origin;
    const key = dial || isSecure ? await keyIn(ownerKeyFile(folder)) : undefined;
    if (key !== undefined) return { key, dial };
  }
  return undefined;
}

async function fromFile(url: URL, file: string, isNamed: boolean): Promise<OwnerAccess> {
  if (!isNamed)
    throw usageError('AGENTHUB_OWNER_KEY_FILE: also name the hub that gets this key, with --url');
  if (url.protocol !== 'https:' && !isLoopback(url.hostname))
    throw usageError(
      `--url: ${url.origin} is on another machine, where the owner's key is sent only over TLS. Write https://`,
    );
  const key = await keyIn(file);
  if (key !== undefined) return { key, dial: undefined };
  throw usageError(`AGENTHUB_OWNER_KEY_FILE: ${JSON.stringify(file)} is not there`);
}

async function keyIn(file: string): Promise<string | undefined> {
  try {
    return await readKey(file);
  } catch (cause) {
    const message = `the owner's key is not usable: ${messageOf(cause)}`;
    throw new HubError('HUB_OWNER_ONLY', message, { cause });
  }
}

/** Returns the key of the running hub, or else of a hub that ran before; undefined if there is none. */
export async function findStoredKey(
  dataDirs: readonly string[],
  compose: Compose | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const folder of dataDirs)
    if (await findRunning(folder)) return await readKey(ownerKeyFile(folder));
  const key = compose && (await readComposeKey(compose, signal));
  if (key !== undefined) return key;
  for (const folder of dataDirs) {
    const kept = await readKey(ownerKeyFile(folder));
    if (kept !== undefined) return kept;
  }
  return undefined;
}

/** Returns the key in the volume of the compose project's hub; undefined if the hub does not run. */
async function readComposeKey(compose: Compose, signal: AbortSignal): Promise<string | undefined> {
  const words = ['exec', '-T', 'hub', 'node', 'bin/agenthub.mjs', 'key'];
  const key = (await docker(compose, words, signal))?.trim() ?? '';
  return /^[\w-]{43}$/.test(key) ? key : undefined;
}

const run = promisify(execFile);
/** Timeout for `docker compose` in ms, longer than `docker compose exec` takes on a busy machine. */
const timeoutMs = 30_000;

/** Runs `docker compose` and returns its output; undefined if Docker is missing or the project does not run. */
async function docker(
  { file, env }: Compose,
  words: readonly string[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const all = ['compose', '--file', file, ...words];
  try {
    return (await run('docker', all, { env, signal, timeout: timeoutMs })).stdout;
  } catch {
    // The caller reports the failure, unless the command was aborted.
    signal.throwIfAborted();
    return undefined;
  }
}

const portOf = ({ port, protocol }: URL) => port || (protocol === 'https:' ? '443' : '80');

/**
 * Returns the wildcard addresses that include a host. `[::]` also accepts IPv4; `0.0.0.0` does not accept IPv6, so
 * another program may listen there.
 */
const wildcardsFor = (host: string) => (host === '[::1]' ? ['[::]'] : ['0.0.0.0', '[::]']);

/**
 * Finds the socket that a URL refers to among those of the hub, such as `127.0.0.1:9090`. Undefined if the hub does not
 * listen on it: `localhost` has several addresses, and another program may listen on one of them.
 */
export function socketOf(
  url: URL,
  sockets: readonly string[],
): { readonly host: string; readonly port: number } | undefined {
  const port = portOf(url);
  const names = url.hostname === 'localhost' ? ['127.0.0.1', '[::1]'] : [url.hostname];
  const found = names.find(
    name =>
      sockets.includes(`${name}:${port}`) ||
      (isLoopback(name) &&
        wildcardsFor(name).some(wildcard => sockets.includes(`${wildcard}:${port}`))),
  );
  return found === undefined
    ? undefined
    : { host: found.replace(/^\[(.*)\]$/, '$1'), port: Number(port) };
}
