import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type OwnerAccess, socketOf } from './socket.ts';

export type Compose = {
  /** The compose file of the hub's repository, never one in the working folder. */
  readonly file: string;
  readonly env: NodeJS.ProcessEnv;
};

const run = promisify(execFile);
/** Longer than `docker compose exec` takes on a busy machine. */
const timeoutMs = 30_000;

/**
 * The key of the hub in the compose project, if that project publishes the URL's port. Undefined if the project does
 * not run or Docker is missing.
 */
export async function findInCompose(
  url: URL,
  compose: Compose,
  signal: AbortSignal,
): Promise<OwnerAccess | undefined> {
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  const published = await docker(compose, ['port', 'hub', port], signal);
  const dial = socketOf(url, published?.trim().split('\n') ?? []);
  const key = dial && (await readComposeKey(compose, signal));
  return key === undefined ? undefined : { key, dial };
}

/** The key in the volume of the compose project's hub; undefined if the hub does not run. */
export async function readComposeKey(
  compose: Compose,
  signal: AbortSignal,
): Promise<string | undefined> {
  const words = ['exec', '-T', 'hub', 'node', 'bin/agenthub.mjs', 'key'];
  const key = (await docker(compose, words, signal))?.trim() ?? '';
  return /^[\w-]{43}$/.test(key) ? key : undefined;
}

async function docker(
  { file, env }: Compose,
  words: readonly string[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const all = ['compose', '--file', file, ...words];
  try {
    const { stdout } = await run('docker', all, { env, signal, timeout: timeoutMs });
    return stdout;
  } catch {
    // Docker is missing, or the project does not exist or run. The caller reports it.
    signal.throwIfAborted();
    return undefined;
  }
}
