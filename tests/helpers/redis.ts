import { afterAll, beforeAll, describe } from 'vitest';
import { describeWithEngine } from './engine.ts';
import { freePort } from './port.ts';

/** A Redis in a container of its own. Its address stays the same after it was killed and restarted. */
export type RedisServer = AsyncDisposable & {
  /** URL without user name and password, also if the server requires them. */
  readonly url: string;
  /** Runs redis-cli in the container. Resolves with its output. */
  cli(...words: readonly string[]): Promise<string>;
  /** Sends SIGKILL to the server. Its data is lost. */
  kill(): Promise<void>;
  /** Starts the server again after `kill`. */
  start(): Promise<void>;
  /** Suspends all processes of the container, as SIGSTOP does. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
};

const image = 'redis:8';

/** Starts redis-server without persistence, with additional arguments. */
export async function startRedis(...args: readonly string[]): Promise<RedisServer> {
  // Ryuk, the container that cleans up after killed tests, would need the socket of the engine.
  process.env['TESTCONTAINERS_RYUK_DISABLED'] = 'true';
  const { GenericContainer, Wait, getContainerRuntimeClient } = await import('testcontainers');
  const port = await freePort();
  const started = await new GenericContainer(image)
    .withCommand(['redis-server', '--save', '', ...args])
    .withExposedPorts({ container: 6379, host: port })
    .withWaitStrategy(Wait.forLogMessage('Ready to accept connections'))
    .start();
  const engine = await getContainerRuntimeClient();
  const container = engine.container.getById(started.getId());
  const cli = async (...words: readonly string[]) => {
    const { output } = await started.exec(['redis-cli', ...words]);
    return output.trim();
  };
  return {
    url: `redis://${started.getHost()}:${port}`,
    cli,
    kill: async () => void (await container.kill()),
    async start() {
      await container.start();
      while ((await cli('ping')) !== 'PONG');
    },
    freeze: async () => void (await container.pause()),
    thaw: async () => void (await container.unpause()),
    [Symbol.asyncDispose]: async () => void (await started.stop({ timeout: 0 })),
  };
}

/**
 * Declares tests that need a Redis: that of REDIS_URL, in which the tests touch only keys that they create, or one in a
 * container. Without either the tests are skipped, with the reason in their name.
 */
export function describeWithRedis(name: string, tests: (url: () => string) => void): void {
  const given = process.env['REDIS_URL'];
  if (given !== undefined) {
    describe(name, () => tests(() => given));
    return;
  }
  describeWithEngine(name, () => {
    let redis: RedisServer | undefined;
    beforeAll(async () => void (redis = await startRedis()));
    afterAll(async () => redis?.[Symbol.asyncDispose]());
    tests(() => redis?.url ?? '');
  });
}
