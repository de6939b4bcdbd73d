import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { createBroker } from '#broker';
import { type Clock, type Log, silent, systemClock } from '#core';
import { type EngineDouble, startEngine } from '../doubles/engine.ts';
import { owner } from './bodies.ts';

type Options = {
  readonly upgrade?: Parameters<typeof startEngine>[1];
  readonly roots?: readonly string[];
  readonly log?: Log;
  readonly clock?: Clock;
  readonly readBuildContext?: () => Promise<Buffer>;
};

/** Creates a broker in the folder of an engine double, without starting it. */
export function brokerOf(
  { folder, socketPath: enginePath }: Pick<EngineDouble, 'folder' | 'socketPath'>,
  options: Options = {},
) {
  const socketPath = join(folder, 'broker.sock');
  const broker = createBroker(
    {
      ...owner,
      socketPath,
      enginePath,
      mountRoots: options.roots ?? [],
      registries: [],
      imagesDir: folder,
    },
    {
      log: options.log ?? silent,
      clock: options.clock ?? systemClock,
      readBuildContext: options.readBuildContext ?? (async () => Buffer.alloc(0)),
      readLock: () => undefined,
    },
  );
  return { broker, socketPath };
}

/** Starts a broker in front of an engine double. */
export async function openBroker(answer: RequestListener, options: Options = {}) {
  const engine = await startEngine(answer, options.upgrade);
  const { broker, socketPath } = brokerOf(engine, options);
  await broker.start(AbortSignal.timeout(5000));
  return {
    engine,
    socketPath,
    async [Symbol.asyncDispose]() {
      await broker.stop();
      await engine[Symbol.asyncDispose]();
    },
  };
}
