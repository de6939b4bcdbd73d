import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';
import { isObject } from '#core';
import { engineHost } from '#helpers/engine-probe';
import { type HubProcess, getJson, startHub, states, until } from '#helpers/hub-process';
import { removeVolumes } from '#helpers/volumes';

const fixtures = join(import.meta.dirname, '..', 'fixtures', 'servers');

/** Returns the entry of a fixture server in a container of the bare Node image. */
export const inContainer = (file: string, more: object = {}): object => ({
  image: 'node:24-bookworm-slim',
  command: 'node',
  args: [`/fixtures/${file}`],
  mounts: [{ source: fixtures, target: '/fixtures' }],
  auto_start: true,
  ...more,
});

/** Returns the entry of a fixture server in a process, for tests in which the runtime does not matter. */
export const inProcess = (file: string, more: object = {}): object => ({
  command: process.execPath,
  args: [join(fixtures, file)],
  runtime: 'process',
  auto_start: true,
  ...more,
});

type SceneOptions = {
  readonly servers: Readonly<Record<string, object>>;
  /** Whether to add the server `neighbour`, which never fails. Default: true. */
  readonly hasNeighbour?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** Docker engine of the hub. Default: the engine of the tests. */
  readonly engine?: { readonly host: string };
};

/** Creates a hub with real containers, which can be killed and started again on the same data. */
export async function createScene(options: SceneOptions) {
  const dataDir = await mkdtemp(join(tmpdir(), 'agenthub-faults-'));
  const hubName = `faults-${randomUUID().slice(0, 8)}`;
  const { host } = options.engine ?? { host: engineHost };
  const docker = new Docker({ socketPath: host.replace('unix://', '') });
  const { hasNeighbour = true } = options;
  const config = {
    servers: { ...options.servers, ...(hasNeighbour && { neighbour: inContainer('echo.mjs') }) },
  };
  const env = { HUB_NAME: hubName, DOCKER_HOST: host, ...options.env };
  let hub: HubProcess | undefined;

  const listed = async () =>
    await docker.listContainers({
      all: true,
      filters: JSON.stringify({ label: [`com.docker.compose.project=${hubName}`] }),
    });

  return {
    docker,
    hubName,
    dataDir,
    /** Starts the next hub. Resolves when it listens. */
    async start(port?: number): Promise<HubProcess> {
      hub = await startHub({ config, dataDir, env, ...(port !== undefined && { port }) });
      return hub;
    },
    /** Returns the container of a server. */
    container: (server: string) => docker.getContainer(`${hubName}-${server}`),
    /** Suspends a process of a container (SIGSTOP). */
    async freeze(server: string, pid: number): Promise<void> {
      const container = docker.getContainer(`${hubName}-${server}`);
      const exec = await container.exec({ Cmd: ['sh', '-c', `kill -STOP ${pid}`] });
      await exec.start({ Detach: true });
    },
    /** Fails unless the states that the hub shows match the engine, with no containers left over. */
    async assertTruthful(of: Pick<HubProcess, 'url'> | undefined = hub): Promise<void> {
      assert.ok(of);
      const shown = await states(of);
      const running = Object.keys(shown).filter(server => shown[server] === 'running');
      const containers = await listed();
      assert.deepEqual(
        containers.flatMap(({ Labels }) => Labels['io.agenthub.server'] ?? []).toSorted(),
        running.toSorted(),
        `the hub shows ${JSON.stringify(shown)}`,
      );
      assert.ok(
        containers.every(({ State }) => State === 'running'),
        'containers that do not run are left over',
      );
    },
    async [Symbol.asyncDispose]() {
      await hub?.[Symbol.asyncDispose]();
      for (const { Id } of await listed())
        await docker
          .getContainer(Id)
          .remove({ force: true })
          // The engine may still be removing a container for a hub that was killed meanwhile.
          .catch((error: unknown) => {
            if (!/already in progress|No such container/.test(String(error))) throw error;
          });
      await removeVolumes(hubName, host);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

export type Scene = Awaited<ReturnType<typeof createScene>>;

/** Prints how long a recovery took. */
export const recovery = (what: string, ms: number): void =>
  void process.stdout.write(`recovery: ${what}: ${Math.round(ms * 10) / 10} ms\n`);

/** Waits until a server is shown in a state. Resolves with the time in ms. */
export async function becomes(
  hub: Pick<HubProcess, 'url'>,
  server: string,
  state: string,
  withinMs = 30_000,
): Promise<number> {
  const since = performance.now();
  await until(
    () => states(hub),
    found => found[server] === state,
    withinMs,
  );
  return performance.now() - since;
}

/** Waits until states and containers match. A container is removed shortly after its server is no longer shown. */
export async function becomesTruthful(
  scene: Pick<Scene, 'assertTruthful'>,
  of?: Pick<HubProcess, 'url'>,
): Promise<void> {
  await until(
    () => scene.assertTruthful(of).then(() => '', String),
    problem => problem === '',
    10_000,
  );
}

/** Waits until the handles of these servers are stored, with which the next hub can adopt them. */
export async function areWrittenDown(
  { dataDir }: Pick<Scene, 'dataDir'>,
  servers: readonly string[],
): Promise<void> {
  await until(
    () => readFile(join(dataDir, 'handles.json'), 'utf8').catch(() => '{}'),
    text => servers.every(server => server in JSON.parse(text)),
    10_000,
  );
}

/** Returns the answer of `GET /servers/{name}`. */
export async function described(
  hub: Pick<HubProcess, 'url'>,
  server: string,
): Promise<Readonly<Record<string, unknown>>> {
  const found = await getJson(hub, `/servers/${server}`);
  assert.ok(typeof found === 'object' && found !== null);
  return { ...found };
}

/** Returns the breaker of a server, as the hub shows it. */
export async function breakerOf(
  hub: Pick<HubProcess, 'url'>,
  server: string,
): Promise<Readonly<Record<string, unknown>>> {
  const shown = await getJson(hub, '/servers');
  assert.ok(isObject(shown) && Array.isArray(shown['servers']));
  const servers: readonly unknown[] = shown['servers'];
  const found = servers.find(one => isObject(one) && one['name'] === server);
  assert.ok(isObject(found) && isObject(found['breaker']));
  return found['breaker'];
}
