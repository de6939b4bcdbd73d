import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Docker from 'dockerode';
import { isObject } from '#core';
import { type SdkClient, connect } from '#helpers/client';
import { engineHost } from '#helpers/engine-probe';
import { type HubProcess, getJson, startHub, states, until } from '#helpers/hub-process';

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

export type SceneOptions = {
  /** Beside `neighbour`, which is always there and well. */
  readonly servers: Readonly<Record<string, object>>;
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
  const config = { servers: { ...options.servers, neighbour: inContainer('echo.mjs') } };
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
      for (const { Id } of await listed()) await docker.getContainer(Id).remove({ force: true });
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
  withinMs = 10_000,
): Promise<void> {
  await until(
    () => scene.assertTruthful().then(() => '', String),
    problem => problem === '',
    withinMs,
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

/** The calls of a client that goes on calling a server, one at a time, whatever happens. */
export type Traffic = {
  /** Ends it, and tells what became of its calls since the mark. */
  stop(): Promise<Outcome>;
  /** What became of the calls so far; those from here on are counted anew. */
  mark(): Outcome;
};

export type Outcome = {
  readonly calls: number;
  readonly failures: readonly string[];
  /** In milliseconds. */
  readonly p99: number;
};

const pauseMs = 5;

/** Calls the tool `echo` of a server until it is stopped. */
export function startTraffic(client: SdkClient): Traffic {
  let isOver = false;
  let took: number[] = [];
  let failures: string[] = [];
  const mark = (): Outcome => {
    const sorted = took.toSorted((a, b) => a - b);
    const outcome = {
      calls: took.length,
      failures,
      p99: sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))] ?? 0,
    };
    took = [];
    failures = [];
    return outcome;
  };
  const going = (async () => {
    for (let number = 1; !isOver; number++) {
      const since = performance.now();
      try {
        const answer = await client.call('echo', { text: String(number) });
        if (answer !== String(number)) failures.push(`answered ${answer} to ${number}`);
      } catch (error) {
        failures.push(String(error));
      }
      took.push(performance.now() - since);
      await delay(pauseMs);
    }
  })();
  return {
    mark,
    async stop() {
      isOver = true;
      await going;
      return mark();
    },
  };
}

/** How long a neighbour is watched before anything happens, for what is quiet. */
const quietMs = 2_000;

/**
 * Lets a fault happen while a neighbour is called. Throws where a call to the neighbour failed or was
 * late: its p99 may be three times that of the quiet phase, or what one busy turn of two cores takes.
 */
export async function besideNeighbour<T>(
  hub: Pick<HubProcess, 'url'>,
  fault: () => Promise<T>,
): Promise<T> {
  await using client = await connect(`${hub.url}/mcp/neighbour`);
  const traffic = startTraffic(client);
  await delay(quietMs);
  const quiet = traffic.mark();
  let result: T;
  try {
    result = await fault();
  } catch (error) {
    // What became of the neighbour would hide it.
    await traffic.stop();
    throw error;
  }
  const during = await traffic.stop();
  assert.deepEqual(during.failures, [], 'calls to the neighbour failed');
  const most = Math.max(3 * quiet.p99, busyTurnMs);
  assert.ok(
    during.p99 <= most,
    `the neighbour's p99 was ${during.p99.toFixed(1)} ms, and ${quiet.p99.toFixed(1)} ms when it was quiet`,
  );
  return result;
}

/** Creating a container on a machine that runs tests on both of its cores. */
const busyTurnMs = 100;
