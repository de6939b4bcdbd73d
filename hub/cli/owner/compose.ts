import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type OwnerAccess, socketOf } from './socket.ts';

export type Compose = {
  /** The compose file of the hub's own repository, and none of the working folder. */
  readonly file: string;
  readonly env: NodeJS.ProcessEnv;
};

const run = promisify(execFile);
/** Longer than `docker compose exec` takes on a busy machine. */
const timeoutMs = 30_000;

/**
 * The key of the hub in the compose project, where that project publishes the port of the address; undefined
 * where it does not run, or there is no Docker here.
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

/** The key that the hub of the compose project keeps in its volume; undefined where it does not run. */
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
    // No Docker, no such project, or it does not run: the caller says what is missing.
    signal.throwIfAborted();
    return undefined;
  }
}
