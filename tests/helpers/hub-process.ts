import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A hub in a child process, started as `npm start` does it. */
export type HubProcess = AsyncDisposable & {
  /** Address of the hub, such as http://127.0.0.1:41234. */
  readonly url: string;
  readonly pid: number;
  readonly dataDir: string;
  readonly configFile: string;
  /** Headers of a request that administers the hub. */
  readonly ownerHeaders: { readonly authorization: string };
  /** Returns what the hub has written to stderr so far. */
  log(): string;
  /** Resolves when the process has exited for any reason. */
  readonly ended: Promise<void>;
  /** Sends SIGTERM and resolves with the exit code. */
  stop(): Promise<number | null>;
  /** Sends SIGKILL and resolves when the process has exited. */
  kill(): Promise<void>;
};

export type HubProcessOptions = {
  /** Path of a config file that several hubs share. Default: a new file with the content of `config`. */
  readonly configFile?: string;
  /** Content of the config file. */
  readonly config: object;
  readonly env?: Readonly<Record<string, string>>;
  /** Additional command line options of the hub. */
  readonly args?: readonly string[];
  /**
   * Data folder that the caller keeps, for hubs that run one after the other. Default: a new one, removed with the hub.
   */
  readonly dataDir?: string;
  /** Port of the hub. Default: any free port. */
  readonly port?: number;
};

const root = join(import.meta.dirname, '..', '..');
const listenMs = 60_000;

/** Arguments of the `start` script in package.json, so that the tests run the hub as users do. */
const startArgs: readonly string[] = String(
  JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts.start,
)
  .split(' ')
  .slice(1);

/** Starts a hub and waits until it listens. Rejects with its log if it exits before. */
export async function startHub(options: HubProcessOptions): Promise<HubProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-test-'));
  const file = options.configFile ?? join(folder, 'mcp-servers.json');
  if (options.configFile === undefined) await writeFile(file, JSON.stringify(options.config));
  const dataDir = options.dataDir ?? join(folder, 'data');
  const child = spawn(
    process.execPath,
    [
      ...startArgs.map(inRoot),
      '--config',
      file,
      '--port',
      String(options.port ?? 0),
      ...(options.args ?? []),
    ],
    {
      // A folder without `.env`, so that the hub does not read that of the user who runs the tests.
      cwd: folder,
      env: {
        ...process.env,
        AGENTHUB_HOME: join(folder, 'home'),
        DATA_DIR: dataDir,
        LOG_FORMAT: 'json',
        ...options.env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const ended = once(child, 'exit').then(() => {});
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
  const stop = async (): Promise<number | null> => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    return child.exitCode;
  };
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await ended;
  };
  const url = await address(child, () => log).catch(async (error: unknown) => {
    await kill();
    await rm(folder, { recursive: true, force: true });
    throw error;
  });
  const ownerKey = (await readFile(join(dataDir, 'owner-key'), 'utf8')).trim();
  return {
    url,
    pid: child.pid ?? 0,
    dataDir,
    configFile: file,
    ownerHeaders: { authorization: `Bearer ${ownerKey}` },
    log: () => log,
    ended,
    stop,
    kill,
    async [Symbol.asyncDispose]() {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Makes paths of scripts absolute, as the hub does not run in the root of the repository here. */
const inRoot = (arg: string) => (arg.endsWith('.mjs') ? join(root, arg) : arg);

async function address(child: ChildProcess, log: () => string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const timer = setTimeout(() => reject(new Error(`the hub does not listen:\n${log()}`)), listenMs);
  let out = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    out += chunk.toString();
    const match = /answers at (\S+)\/mcp/.exec(out);
    if (match?.[1]) resolve(match[1]);
  });
  child.on('exit', code => reject(new Error(`the hub ended with ${code}:\n${log()}`)));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}

/** Fetches a path of the hub's API. Resolves with the JSON of the answer. */
export async function getJson(hub: Pick<HubProcess, 'url'>, path: string): Promise<unknown> {
  const answer = await fetch(`${hub.url}${path}`);
  return await answer.json();
}

/** Calls `ask` every 100 ms until `isDone` is true for its answer. Rejects with the last answer after `withinMs`. */
export async function until<T>(
  ask: () => Promise<T>,
  isDone: (answer: T) => boolean,
  withinMs: number,
): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (isDone(answer)) return answer;
    if (Date.now() > deadline)
      throw new Error(`not within ${withinMs} ms: ${JSON.stringify(answer)}`);
    await new Promise(resolve => setTimeout(resolve, 100));
  }
}

/** Returns the states of all servers, by name. */
export async function states(
  hub: Pick<HubProcess, 'url'>,
): Promise<Readonly<Record<string, string>>> {
  const health: unknown = await getJson(hub, '/health');
  const found: Record<string, string> = {};
  if (typeof health !== 'object' || health === null || !('servers' in health)) return found;
  for (const [name, server] of Object.entries(health.servers ?? {}))
    if (typeof server === 'object' && server !== null && 'state' in server)
      found[name] = String(server.state);
  return found;
}

/** States that a server leaves by itself. The hub tries again to reach an engine that is `unreachable`. */
const passing: ReadonlySet<string> = new Set(['starting', 'backing_off', 'unreachable']);

/** Waits until no server is starting or will be started again. Resolves with the states of all servers, by name. */
export async function settled(
  hub: Pick<HubProcess, 'url'>,
  withinMs: number,
): Promise<Readonly<Record<string, string>>> {
  return await until(
    () => states(hub),
    found => Object.values(found).every(state => !passing.has(state)),
    withinMs,
  );
}
