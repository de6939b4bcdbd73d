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

/** The entry of a fixture in a container of the bare Node image. */
export const inContainer = (file: string, more: object = {}): object => ({
  image: 'node:24-bookworm-slim',
  command: 'node',
  args: [`/fixtures/${file}`],
  mounts: [{ source: fixtures, target: '/fixtures' }],
  auto_start: true,
  ...more,
});

/** The entry of a fixture in a process, where it does not matter what a server runs in. */
export const inProcess = (file: string, more: object = {}): object => ({
  command: process.execPath,
  args: [join(fixtures, file)],
  runtime: 'process',
  auto_start: true,
  ...more,
});

type SceneOptions = {
  readonly servers: Readonly<Record<string, object>>;
  /** Whether `neighbour` is there beside them, which is always well. Default: true. */
  readonly hasNeighbour?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** Instead of the one that answers the tests. */
  readonly engine?: { readonly host: string };
};

/** A hub on real containers, which may be killed and started again on the same data. */
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
    /** Starts the next hub, and resolves when it listens. */
    async start(port?: number): Promise<HubProcess> {
      hub = await startHub({ config, dataDir, env, ...(port !== undefined && { port }) });
      return hub;
    },
    /** The container of a server. */
    container: (server: string) => docker.getContainer(`${hubName}-${server}`),
    /** Stops a process of a container from running, without ending it. */
    async freeze(server: string, pid: number): Promise<void> {
      const container = docker.getContainer(`${hubName}-${server}`);
      const exec = await container.exec({ Cmd: ['sh', '-c', `kill -STOP ${pid}`] });
      await exec.start({ Detach: true });
    },
    /** Throws unless the states that the hub shows are what the engine says, with nothing left over. */
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
          // The engine may still be removing what a hub asked it to remove that was killed meanwhile.
          .catch((error: unknown) => {
            if (!/already in progress|No such container/.test(String(error))) throw error;
          });
      await removeVolumes(hubName, host);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

export type Scene = Awaited<ReturnType<typeof createScene>>;

/** Reports how long a recovery took, for the record. */
export const recovery = (what: string, ms: number): void =>
  void process.stdout.write(`recovery: ${what}: ${Math.round(ms * 10) / 10} ms\n`);

/** Resolves with the milliseconds until a server is shown in a state. */
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

/** Resolves when states and containers are the same: what ends is gone a moment after it is not shown any more. */
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

/** Resolves when the next hub would go on with these servers: of one that has just come up it knows nothing yet. */
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

/** What `GET /servers/{name}` says. */
export async function described(
  hub: Pick<HubProcess, 'url'>,
  server: string,
): Promise<Readonly<Record<string, unknown>>> {
  const found = await getJson(hub, `/servers/${server}`);
  assert.ok(typeof found === 'object' && found !== null);
  return { ...found };
}

/** What a hub shows of the breaker of a server. */
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
