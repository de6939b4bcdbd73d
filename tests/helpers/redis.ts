import { afterAll, beforeAll, describe } from 'vitest';
import { describeWithEngine } from './engine.ts';
import { freePort } from './port.ts';

/** A Redis of its own, in a container, at an address that outlives its death. */
export type RedisServer = AsyncDisposable & {
  /** Without a password, and of nobody if it has one. */
  readonly url: string;
  /** Runs redis-cli in the container, and resolves with what it prints. */
  cli(...words: readonly string[]): Promise<string>;
  /** Sends SIGKILL. What it held is lost. */
  kill(): Promise<void>;
  /** Starts it again after `kill`. */
  start(): Promise<void>;
  /** Stops all its processes where they are, as SIGSTOP does. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
};

const image = 'redis:8';

/** Starts redis-server, with more arguments where some are given. It saves nothing to its disk. */
export async function startRedis(...args: readonly string[]): Promise<RedisServer> {
  // What it would start to clean up behind killed tests needs the engine's socket in a container.
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
 * Tests on one Redis: the one at REDIS_URL, of which nothing but keys that tests make up is touched, or
 * one in a container. Without either they are skipped by name.
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
