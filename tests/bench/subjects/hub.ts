import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort, run } from '../child.ts';

export type Hub = AsyncDisposable & {
  readonly pid: number;
  readonly url: string;
  readonly dataDir: string;
  readonly configFile: string;
  /** Time at which the process was started, on the clock of `performance.now`. */
  readonly spawnedAt: number;
};

const startMs = 120_000;
const pollMs = 100;

type Servers = Readonly<Record<string, object>>;

type HubOptions = {
  /** Data folder. Default: a new one, which is removed with the hub. */
  readonly dataDir?: string;
  /** Additional environment variables. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Keys of the config file besides the servers. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Checkout of the hub to start. Default: the working tree. */
  readonly root?: string;
};

/** Starts the hub as `npm start` does, with these servers, and waits until all of them are running. */
export async function startHub(
  name: string,
  servers: Servers,
  options: HubOptions = {},
): Promise<Hub> {
  await using opened = new AsyncDisposableStack();
  const hub = opened.use(await spawnHub(name, servers, options));
  await allRunning(hub.url);
  const kept = opened.move();
  return { ...hub, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** Starts the hub without waiting until it listens. */
export async function spawnHub(
  name: string,
  servers: Servers,
  { dataDir, settings = {}, config = {}, root = process.cwd() }: HubOptions = {},
): Promise<Hub> {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-bench-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const configFile = join(folder, 'servers.json');
  await writeFile(configFile, JSON.stringify({ ...config, servers }));
  const port = await freePort();
  const data = dataDir ?? join(folder, 'data');
  const words = await startArguments(root);
  const spawnedAt = performance.now();
  const hub = opened.use(
    run(process.execPath, [...words, '--config', configFile, '--port', String(port)], {
      ...process.env,
      DATA_DIR: data,
      HUB_NAME: name,
      LOG_LEVEL: 'error',
      ...settings,
    }),
  );
  const url = `http://127.0.0.1:${port}`;
  const kept = opened.move();
  return {
    pid: hub.pid,
    url,
    dataDir: data,
    configFile,
    spawnedAt,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Returns the arguments of `node` in the script `start`, so that flags set there apply here too. */
async function startArguments(root: string): Promise<readonly string[]> {
  const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const [, ...rest] = String(manifest.scripts.start).split(' ');
  return rest.map(word => (word.endsWith('.mjs') ? join(root, word) : word));
}

async function allRunning(url: string): Promise<void> {
  const until = performance.now() + startMs;
  for (;;) {
    const states = await statesOf(url);
    if (states.length > 0 && states.every(state => state === 'running')) return;
    if (performance.now() > until || states.includes('failed'))
      throw new Error(`the hub's servers are not running: ${states.join(', ') || 'no answer'}`);
    await delay(pollMs);
  }
}

async function statesOf(url: string): Promise<readonly string[]> {
  try {
    const answer = await fetch(`${url}/servers`);
    const { servers } = JSON.parse(await answer.text());
    return servers.map((server: { readonly state: string }) => server.state);
  } catch {
    // The hub does not listen yet.
    return [];
  }
}
