import { type Clock, messageOf } from '#core';
import type { Engine } from '../engine/engine.ts';

/** Maximum time in ms until the engine has removed the container of an aborted build. */
const endMs = 10_000;
const retryMs = 100;

type Needs = {
  readonly engine: Pick<Engine, 'removeNetwork'>;
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
};

/** Removes the network of a build. Retries while the container of an aborted build, which dies late, is still in it. */
export async function removeBuildNetwork(name: string, { engine, clock }: Needs): Promise<void> {
  const deadlineMs = clock.monotonic() + endMs;
  for (;;) {
    try {
      return await engine.removeNetwork(name);
    } catch (error) {
      if (!/active endpoints/.test(messageOf(error)) || clock.monotonic() >= deadlineMs)
        throw error;
    }
    await new Promise<void>(resolve => void clock.after(retryMs, resolve));
  }
}
