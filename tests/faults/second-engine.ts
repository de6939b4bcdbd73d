import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { http } from '#core';
import { engineHost } from '#helpers/engine-probe';
import { until } from '#helpers/hub-process';

const run = promisify(execFile);

/** A Docker engine for one test, which can be killed and started again. */
export type SecondEngine = AsyncDisposable & {
  /** Address of the engine, as in DOCKER_HOST. */
  readonly host: string;
  readonly socketPath: string;
  /** Sends the signal to the engine. Resolves when it has exited. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Starts the engine. Resolves when it answers. */
  start(): Promise<void>;
};

type Running = {
  readonly command: string;
  readonly args: readonly string[];
  readonly path: string;
};

/** Returns how the engine of the tests was started, from its process; a sentence with the reason if that is unknown. */
async function findRunning(): Promise<Running | string> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return 'a second engine needs root on Linux';
  try {
    const { stdout } = await run('pgrep', ['-x', 'dockerd']);
    const pid = stdout.trim().split('\n')[0] ?? '';
    const command = await readlink(`/proc/${pid}/exe`);
    const environment = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0');
    const path = environment.find(line => line.startsWith('PATH='))?.slice('PATH='.length) ?? '';
    const [, , ...args] = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0');
    return { command, args, path };
  } catch {
    return 'no dockerd of this machine is seen, of which a second one could be started';
  }
}

/** Returns why a second engine cannot be started here; undefined if it can. */
export async function secondEngineProblem(): Promise<string | undefined> {
  const found = await findRunning();
  return typeof found === 'string' ? found : undefined;
}

/** Starts further engines, each with one image copied from the engine of the tests. */
export type SecondEngines = AsyncDisposable & {
  start(options: { readonly liveRestore: boolean }): Promise<SecondEngine>;
};

/** Loads the image into an engine once, which takes as long as a test. Further engines get a copy of its data. */
export async function prepareSecondEngines(image: string): Promise<SecondEngines> {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-engines-'));
  const loaded = join(folder, 'data');
  const first = await startSecondEngine({ liveRestore: false });
  try {
    await copyImage(image, first);
    await first.end('SIGTERM');
    await copyData(first.dataFolder, loaded);
  } finally {
    await first[Symbol.asyncDispose]();
  }
  return {
    start: options => startSecondEngine(options, loaded),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Starts an engine with one image copied from the engine of the tests. */
export async function startEngineWith(image: string): Promise<SecondEngine> {
  const engine = await startSecondEngine({ liveRestore: false });
  try {
    await copyImage(image, engine);
    return engine;
  } catch (error) {
    await engine[Symbol.asyncDispose]();
    throw error;
  }
}

const copyImage = (image: string, { host }: SecondEngine) =>
  run('sh', ['-c', `docker -H ${engineHost} save ${image} | docker -H ${host} load`]);

/** Copies the data of an engine. Files of images (300 MB) become hard links, as engines never write to them. */
async function copyData(from: string, to: string): Promise<void> {
  await run('cp', ['-al', from, to]);
  for (const each of await readdir(from)) {
    if (each === 'overlay2') continue;
    await rm(join(to, each), { recursive: true });
    await run('cp', ['-a', join(from, each), join(to, each)]);
  }
}

/** Starts an engine in its own network namespace, with the network `none`, and a copy of `data` if given. */
async function startSecondEngine(
  options: { readonly liveRestore: boolean },
  data?: string,
): Promise<SecondEngine & { readonly dataFolder: string }> {
  const found = await findRunning();
  if (typeof found === 'string') throw new Error(found);
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-engine-'));
  const dataFolder = join(folder, 'data');
  if (data !== undefined) await copyData(data, dataFolder);
  const socketPath = join(folder, 'docker.sock');
  const host = `unix://${socketPath}`;
  const { 'init-path': initPath } = await configOf(found);
  const config = join(folder, 'daemon.json');
  await writeFile(
    config,
    JSON.stringify({
      hosts: [host],
      'data-root': dataFolder,
      'exec-root': join(folder, 'exec'),
      pidfile: join(folder, 'dockerd.pid'),
      ...(initPath !== undefined && { 'init-path': initPath }),
      'live-restore': options.liveRestore,
      features: { 'containerd-snapshotter': false },
      bridge: 'none',
      iptables: false,
      ip6tables: false,
    }),
  );
  let engine: ChildProcess | undefined;
  const { command } = found;
  const env = { ...process.env, PATH: `${dirname(command)}:${found.path}` };

  async function end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (!engine || engine.exitCode !== null || engine.signalCode !== null) return;
    const over = once(engine, 'exit');
    engine.kill(signal);
    await over;
  }

  async function start(): Promise<void> {
    engine = spawn('unshare', ['--net', command, '--config-file', config], {
      env,
      stdio: 'ignore',
    });
    await until(() => answers(socketPath), Boolean, 30_000);
  }

  await start();

  return {
    host,
    dataFolder,
    socketPath,
    end,
    start,
    async [Symbol.asyncDispose]() {
      await end('SIGTERM');
      // The processes that a killed engine had started still run.
      await run('pkill', ['-KILL', '-f', folder]).catch(() => undefined);
      const mounts = await readFile('/proc/self/mounts', 'utf8');
      const inside = mounts.split('\n').flatMap(line => line.split(' ')[1] ?? []);
      for (const mount of inside.filter(path => path.startsWith(folder)).toReversed())
        await run('umount', ['-l', mount]).catch(() => undefined);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Returns the config of a running engine, from its config file; empty if there is none. */
async function configOf({ args }: Running): Promise<Readonly<Record<string, unknown>>> {
  const file = args[args.indexOf('--config-file') + 1] ?? '/etc/docker/daemon.json';
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch {
    return {};
  }
}

/** True if an engine answers on the socket. */
function answers(socketPath: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  http
    .get({ socketPath, path: '/_ping' }, response => {
      response.resume();
      resolve(response.statusCode === 200);
    })
    .on('error', () => resolve(false));
  return promise;
}
