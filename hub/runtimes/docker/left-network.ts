import { type Clock, messageOf } from '#core';
import type { Engine } from './engine.ts';

/** The engine ends the container of a build that was given up within this time, in ms. */
const endMs = 10_000;
const retryMs = 100;

type Needs = {
  readonly engine: Pick<Engine, 'removeNetwork'>;
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
};

/**
 * Removes the network of a build, for which it waits up to 10 s: a build that was given up still has its container when the
 * engine has answered. Rejects with the engine's refusal where the network is in use after that.
 */
export async function removeLeftNetwork(name: string, { engine, clock }: Needs): Promise<void> {
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
