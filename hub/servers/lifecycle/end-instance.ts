import { type Clock, HubError } from '#core';
import type { Instance } from '#runtimes';
import type { Upstream } from '#upstream';
import { haltedError } from '../failures.ts';
import type { Running } from '../server-types.ts';
import { graceMs } from '../handshake/start.ts';
import type { Ending } from './running-instance.ts';

export type InstanceEnds = ReturnType<typeof createInstanceEnds>;

/** Maximum time for pending requests once another instance takes the new ones. */
const drainMs = 30_000;
/** Interval at which a draining instance is checked for pending requests. */
const drainCheckMs = 50;
/** Maximum time between the end of stdout and the exit, for errors to name the exit code. */
const exitNoticeMs = 1_000;

/**
 * Ends the instances of one server and fails their pending requests. Nothing else does either. `gone` makes the
 * error of a server that ended by itself, with the end of its stderr.
 */
export function createInstanceEnds(
  server: string,
  clock: Clock,
  gone: (how: string, cause: unknown) => HubError,
) {
  let hurry = new AbortController();

  function drained(upstream: Pick<Upstream, 'inFlight'>): Promise<void> {
    const { signal } = hurry;
    const deadlineMs = clock.monotonic() + drainMs;
    const { promise, resolve } = Promise.withResolvers<void>();
    const check = () => {
      if (upstream.inFlight() === 0 || signal.aborted || clock.monotonic() >= deadlineMs) resolve();
      else clock.after(drainCheckMs, check);
    };
    check();
    return promise;
  }

  async function stop({ instance, upstream }: Running, reason: string): Promise<void> {
    upstream.fail(haltedError(server, reason));
    await instance.stop({ graceMs });
  }

  return {
    /** Fails the pending requests once the channel has closed, with how the server exited. */
    async failOnClose({ channel, exited }: Instance, upstream: Upstream): Promise<void> {
      const { reason, error } = await channel.closed;
      const late = Promise.withResolvers<undefined>();
      using _timer = clock.after(exitNoticeMs, () => late.resolve(undefined));
      const exit = await Promise.race([exited, late.promise]);
      upstream.fail(gone(exit?.detail ?? reason, error));
    },
    /** Stops an instance because that is wanted, for `reason`. */
    stop,
    /** Stops an instance once its pending requests are answered, no later than the drain timeout. */
    async drain(running: Running, reason: string): Promise<void> {
      await drained(running.upstream);
      await stop(running, reason);
    },
    /** Stops all draining instances now. */
    hurry(): void {
      hurry.abort();
      hurry = new AbortController();
    },
    /** Removes an instance that has ended, does not respond, or (`isLost`) is out of reach. */
    async reap({ instance, upstream }: Running, { unresponsive, cause }: Ending) {
      const exit = await instance.stop({ graceMs: 0 });
      const error = exit.lost
        ? new HubError('HUB_ENGINE_UNREACHABLE', `${server} is out of reach: ${exit.detail}`, {
            data: { server, retryable: true },
          })
        : (exit.refusal ?? gone(unresponsive ?? exit.detail, cause));
      upstream.fail(error);
      const isClean = exit.code === 0 && unresponsive === undefined;
      return { error, isClean, isLost: exit.lost === true };
    },
  };
}
